#include "tools/command/token_file.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "core/base/status.h"
#include "core/process/write_error.h"

namespace feedmill {
namespace {

constexpr size_t kTokenMax = size_t{1} << 30;  // client stages may hold much

}  // namespace

absl::StatusOr<std::string> LoadToken(const std::string& what,
                                      const std::string& path) {
  std::error_code error;
  const uintmax_t size = std::filesystem::file_size(path, error);
  std::ifstream file(path, std::ios::binary);
  if (error || !file) {
    return NotFound("{}: there is no such file to read", what);
  }
  if (size == 0 || size > kTokenMax) {
    return InvalidArgument("{}: this is no token of a reader", what);
  }
  std::string bytes(size, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(size));
  bytes.resize(static_cast<size_t>(file.gcount()));
  return bytes;
}

absl::Status SaveToken(const std::string& what, const std::string& path,
                       const std::string& bytes) {
  const std::string partial = path + ".partial";
  std::ofstream file(partial, std::ios::binary | std::ios::trunc);
  file << bytes;
  errno = 0;
  file.close();
  const int why = errno;
  std::error_code error;
  if (file) std::filesystem::rename(partial, path, error);
  if (file && !error) return absl::OkStatus();
  std::filesystem::remove(partial, error);
  if (why == 0) return Unavailable("{}: it cannot be written", what);
  return Unavailable("{}: it cannot be written: {}", what, WriteErrorText(why));
}

}  // namespace feedmill
