#include "server/address_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/base/status.h"
#include "core/io/folder_file.h"

namespace feedmill {
namespace {

constexpr std::string_view kDescriptors = "/dev/fd/";

}  // namespace

AddressFile::AddressFile(std::string path, std::string option)
    : path_(std::move(path)),
      option_(std::move(option)),
      descriptor_(path_.starts_with(kDescriptors)) {}

AddressFile::~AddressFile() { Remove(); }

absl::Status AddressFile::Prepare() {
  if (path_.empty() || descriptor_) return absl::OkStatus();
  std::error_code error;
  const std::filesystem::path path(path_);
  std::filesystem::path folder = path.parent_path();
  if (folder.empty()) folder = ".";
  if (!std::filesystem::is_directory(folder, error)) {
    return InvalidArgument("{} {}: there is no folder '{}'", option_, path_,
                           folder.string());
  }
  if (std::filesystem::is_directory(path, error)) {
    return InvalidArgument("{} {}: is a folder; name a file in it", option_,
                           path_);
  }
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    return InvalidArgument("{} {}: no permission to write in '{}'", option_,
                           path_, folder.string());
  }
  DropUnfinishedOf(path_);
  std::filesystem::remove(path, error);
  if (error) {
    return InvalidArgument("{} {}: cannot remove the old one: {}", option_,
                           path_, error.message());
  }
  return absl::OkStatus();
}

absl::Status AddressFile::Write(const std::string& address) {
  if (path_.empty()) return absl::OkStatus();
  const std::string content = address + "\n";
  if (descriptor_) return WriteToDescriptor(content);
  const absl::Status written = ReplaceFile(path_, content);
  if (!written.ok()) {
    return Unavailable("{} {}: cannot write: {}", option_, path_,
                       ErrorText(written));
  }
  written_ = content;
  return absl::OkStatus();
}

absl::Status AddressFile::WriteToDescriptor(const std::string& content) const {
  const std::string number = path_.substr(kDescriptors.size());
  const int fd = std::atoi(number.c_str());
  if (fd <= STDERR_FILENO || number != std::to_string(fd)) {
    return InvalidArgument("{} {}: name a descriptor above 2", option_, path_);
  }
  // A pipe takes so short a text whole or not at all.
  const ssize_t written = write(fd, content.data(), content.size());
  const int error = errno;
  close(fd);
  if (written == static_cast<ssize_t>(content.size())) return absl::OkStatus();
  return Unavailable("{} {}: cannot write: {}", option_, path_,
                     std::strerror(error));
}

void AddressFile::Remove() {
  if (written_.empty()) return;
  std::ifstream file(path_, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  if (content.str() == written_) unlink(path_.c_str());
  written_.clear();
}

}  // namespace feedmill
