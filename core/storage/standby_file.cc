#include "core/storage/standby_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "core/base/status.h"
#include "core/storage/folder_lock.h"
#include "core/storage/journal_chain.h"

namespace feedmill {
namespace {

constexpr std::string_view kStandbyPrefix = "standby-";

}  // namespace

StandbyFile::StandbyFile(const std::string& folder)
    : path_(fmt::format("{}/{}{}", folder, kStandbyPrefix, getpid())) {}

StandbyFile::~StandbyFile() {
  if (file_ < 0) return;
  unlink(path_.c_str());
  close(file_);
}

bool StandbyFile::Make() {
  file_ = OpenPrivate(path_, O_CREAT | O_TRUNC);
  if (file_ < 0) return false;
  const std::string text = ThisProcess();
  const ssize_t written = write(file_, text.data(), text.size());
  // Waits for a writer that looks whether the file is locked.
  return written == static_cast<ssize_t>(text.size()) &&
         flock(file_, LOCK_EX) == 0;
}

void StandbyFile::Keep() {
  if (file_ >= 0 && IsFileAt(file_, path_)) return;
  if (file_ >= 0) close(file_);
  if (Make() || file_ < 0) return;
  close(file_);
  file_ = -1;
}

std::vector<Standby> StandbysOf(const std::string& folder) {
  std::vector<Standby> standbys;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end;
       !error && entry != end; entry.increment(error)) {
    const std::string path = entry->path();
    if (!entry->path().filename().string().starts_with(kStandbyPrefix)) {
      continue;
    }
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) continue;
    if (flock(file, LOCK_SH | LOCK_NB) != 0) {
      char name[300] = "";
      const ssize_t size = pread(file, name, sizeof name, 0);
      standbys.push_back(
          {std::string(name, size > 0 ? static_cast<size_t>(size) : 0),
           absl::ZeroDuration()});
    } else {
      unlink(path.c_str());  // its process was killed
    }
    close(file);
  }
  std::ranges::sort(standbys, {}, &Standby::name);
  return standbys;
}

}  // namespace feedmill
