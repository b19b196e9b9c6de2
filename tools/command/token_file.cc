#include "tools/command/token_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <limits>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/time/clock.h"
#include "core/base/status.h"
#include "core/io/file_systems.h"
#include "core/process/write_error.h"
#include "tools/command/flags.h"

namespace feedmill {
namespace {

// client stages may hold much data
constexpr size_t kTokenMax = size_t{1} << 30;

// Returns 0, or the errno of the call that failed.
int WriteWhole(const std::string& path, const std::string& bytes) {
  const int file =
      open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return errno;
  int why = 0;
  for (size_t done = 0; why == 0 && done < bytes.size();) {
    const ssize_t wrote = write(file, bytes.data() + done, bytes.size() - done);
    if (wrote >= 0) {
      done += static_cast<size_t>(wrote);
    } else if (errno != EINTR) {
      why = errno;
    }
  }
  if (close(file) != 0 && why == 0) why = errno;
  return why;
}

// Reads a token behind a URL.
absl::StatusOr<std::string> ReadStoredToken(const std::string& what,
                                            const std::string& name) {
  auto bytes = ReadFile(name, kTokenMax);
  if (!bytes.ok()) return Annotate(bytes.status(), what);
  if (bytes->empty()) {
    return InvalidArgument("{}: this is no token of a reader", what);
  }
  return bytes;
}

absl::Status WriteStored(const std::string& what, const std::string& name,
                         const std::string& bytes) {
  FM_ASSIGN_OR_RETURN(const FileSystem* const files, FileSystemOf(name));
  return Annotate(files->Write(name, bytes), what);
}

}  // namespace

absl::StatusOr<std::string> LoadToken(const std::string& what,
                                      const std::string& path) {
  if (!SchemeOf(path).empty()) return ReadStoredToken(what, path);
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

bool IsTokenFile(const std::string& path) {
  if (!SchemeOf(path).empty()) return true;
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  return !std::filesystem::exists(status) ||
         std::filesystem::is_regular_file(status);
}

absl::Status SaveFile(const std::string& what, const std::string& path,
                      const std::string& bytes) {
  if (!SchemeOf(path).empty()) return WriteStored(what, path, bytes);
  std::error_code error;
  const bool replaces = IsTokenFile(path);
  const std::string target = replaces ? path + ".partial" : path;
  const int why = WriteWhole(target, bytes);
  error.clear();
  if (why == 0 && replaces) std::filesystem::rename(target, path, error);
  if (why == 0 && !error) return absl::OkStatus();
  std::error_code ignored;
  if (replaces) std::filesystem::remove(target, ignored);
  const int reason = why != 0 ? why : error.value();
  const bool full = reason == ENOSPC || reason == EDQUOT;
  return Unavailable(
      "{}: {} bytes cannot be written: {}{}", what, bytes.size(),
      WriteErrorText(reason),
      full ? "; free space there, or save it on another disk" : "");
}

absl::StatusOr<SaveInterval> ParseSaveInterval(const std::string& text) {
  SaveInterval every;
  const bool counts = !text.empty() && std::all_of(text.begin(), text.end(),
                                                   absl::ascii_isdigit);
  if (counts) {
    FM_ASSIGN_OR_RETURN(
        every.elements,
        ParseCount(text, 1, std::numeric_limits<uint64_t>::max()));
    return every;
  }
  const absl::StatusOr<absl::Duration> time = ParsePositiveDuration(text);
  if (!time.ok()) {
    return InvalidArgument(
        "'{}' is neither a number of elements (1000) nor a time (30s)", text);
  }
  every.time = *time;
  return every;
}

TokenSaver::TokenSaver(SaveInterval every,
                       std::function<absl::Status(uint64_t unread)> save)
    : every_(every), save_(std::move(save)), saved_(absl::Now()) {}

uint64_t TokenSaver::Room() const {
  return every_.elements == 0 ? std::numeric_limits<uint64_t>::max()
                              : every_.elements - written_;
}

absl::Status TokenSaver::Wrote(uint64_t rows, uint64_t unread) {
  written_ += rows;
  if (every_.elements > 0 && written_ >= every_.elements) Save(unread);
  Look(unread);
  return status_;
}

void TokenSaver::Look(uint64_t unread) {
  if (every_.time == absl::InfiniteDuration()) return;
  if (absl::Now() - saved_ >= every_.time) Save(unread);
}

void TokenSaver::Save(uint64_t unread) {
  if (!status_.ok()) return;
  status_ = save_(unread);
  written_ = 0;
  saved_ = absl::Now();
}

}  // namespace feedmill
