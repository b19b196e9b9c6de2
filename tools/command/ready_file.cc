#include "tools/command/ready_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

#include "core/base/status.h"

namespace feedmill {

ReadyFile::ReadyFile(std::string path) : path_(std::move(path)) {}

ReadyFile::~ReadyFile() { Remove(); }

absl::Status ReadyFile::Prepare() {
  if (path_.empty()) return absl::OkStatus();
  std::error_code error;
  const std::filesystem::path path(path_);
  std::filesystem::path folder = path.parent_path();
  if (folder.empty()) folder = ".";
  if (!std::filesystem::is_directory(folder, error)) {
    return InvalidArgument("--ready-file {}: there is no folder '{}'", path_,
                           folder.string());
  }
  if (std::filesystem::is_directory(path, error)) {
    return InvalidArgument("--ready-file {}: is a folder; name a file in it",
                           path_);
  }
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    return InvalidArgument("--ready-file {}: no permission to write in '{}'",
                           path_, folder.string());
  }
  std::filesystem::remove(path, error);
  if (error) {
    return InvalidArgument("--ready-file {}: cannot remove the old one: {}",
                           path_, error.message());
  }
  return absl::OkStatus();
}

absl::Status ReadyFile::Write(const std::string& address) {
  if (path_.empty()) return absl::OkStatus();
  const std::string content = address + "\n";
  const std::string beside = fmt::format("{}.{}.new", path_, getpid());
  std::ofstream file(beside, std::ios::binary | std::ios::trunc);
  file << content;
  file.close();
  if (!file) {
    const int error = errno;
    unlink(beside.c_str());
    return Unavailable("--ready-file {}: cannot write: {}", path_,
                       std::strerror(error));
  }
  if (std::rename(beside.c_str(), path_.c_str()) != 0) {
    const int error = errno;
    unlink(beside.c_str());
    return Unavailable("--ready-file {}: cannot rename {} to it: {}", path_,
                       beside, std::strerror(error));
  }
  written_ = content;
  return absl::OkStatus();
}

void ReadyFile::Remove() {
  if (written_.empty()) return;
  std::ifstream file(path_, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  if (content.str() == written_) unlink(path_.c_str());
  written_.clear();
}

}  // namespace feedmill
