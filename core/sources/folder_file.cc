#include "core/sources/folder_file.h"

#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <system_error>

#include "core/base/status.h"
#include "core/process/write_error.h"

namespace feedmill {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kUnfinished = ".new";
constexpr auto kWriteTimeMax = std::chrono::hours(1);

bool WriteWhole(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = write(file, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(wrote));
  }
  return true;
}

}  // namespace

absl::Status WriteIntoFolder(const std::string& folder, const std::string& name,
                             std::string_view text) {
  std::error_code error;
  fs::create_directories(folder, error);
  std::string temporary = fmt::format("{}/XXXXXX{}", folder, kUnfinished);
  const int file =
      mkstemps(temporary.data(), static_cast<int>(kUnfinished.size()));
  if (file < 0) return Unavailable("{}", WriteErrorText(errno));
  bool wrote = WriteWhole(file, text);
  int why = errno;
  if (close(file) != 0 && wrote) {
    wrote = false;
    why = errno;
  }
  if (wrote) {
    fs::rename(temporary, folder + "/" + name, error);
    wrote = !error;
    if (error) why = error.value();
  }
  if (wrote) return absl::OkStatus();
  fs::remove(temporary, error);
  return Unavailable("{}", WriteErrorText(why));
}

void DropUnfinished(const fs::directory_entry& entry) {
  if (entry.path().extension() != kUnfinished) return;
  std::error_code gone;
  const auto time = entry.last_write_time(gone);
  if (!gone && fs::file_time_type::clock::now() - time > kWriteTimeMax) {
    fs::remove(entry.path(), gone);
  }
}

}  // namespace feedmill
