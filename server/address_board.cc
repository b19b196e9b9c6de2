#include "server/address_board.h"

#include <filesystem>
#include <fstream>

#include "core/base/status.h"
#include "core/net/address.h"

namespace feedmill {
namespace {

// Upper bound: addresses that Publish writes are shorter.
constexpr size_t kEntryMax = 512;

// Returns the file name of a job. Job names may hold any bytes; special ones
// become %XX.
std::string FileName(std::string_view job) {
  std::string name;
  for (const char c : job) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       (c >= '0' && c <= '9') || c == '_' || c == '-';
    name += plain ? std::string(1, c)
                  : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return name;
}

}  // namespace

std::string AddressBoard::PathOf(std::string_view job, int64_t index) const {
  return (std::filesystem::path(folder_) /
          fmt::format("{}-{}", FileName(job), index))
      .string();
}

absl::Status AddressBoard::Prepare(std::string_view job, int64_t index) {
  if (!present()) return absl::OkStatus();
  own_ = std::make_unique<AddressFile>(PathOf(job, index), "publish");
  return own_->Prepare();
}

absl::Status AddressBoard::Publish(const std::string& address) {
  return own_ == nullptr ? absl::OkStatus() : own_->Write(address);
}

absl::StatusOr<std::optional<std::string>> AddressBoard::Find(
    std::string_view job, int64_t index) const {
  if (!present()) return std::nullopt;
  const std::string path = PathOf(job, index);
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::string line(kEntryMax, '\0');
  file.read(line.data(), static_cast<std::streamsize>(line.size()));
  line.resize(static_cast<size_t>(file.gcount()));
  line.erase(std::min(line.find('\n'), line.size()));
  const auto address = ParseAddress(line);
  if (!address.ok()) return Annotate(address.status(), path);
  return address->ToString();
}

}  // namespace feedmill
