#ifndef FEEDMILL_CORE_STORAGE_STANDBY_FILE_H_
#define FEEDMILL_CORE_STORAGE_STANDBY_FILE_H_

#include <string>
#include <vector>

#include "core/storage/journal.h"

namespace feedmill {

// The file of a standby, `standby-PID` in the folder of the journal that it
// waits for. It is locked while its process lives, so that the writer sees a
// killed standby go. Errors are ignored: the file is for people only.
//
// Thread-compatible.
class StandbyFile {
 public:
  explicit StandbyFile(const std::string& folder);
  StandbyFile(const StandbyFile&) = delete;
  StandbyFile& operator=(const StandbyFile&) = delete;
  ~StandbyFile();

  // Makes the file, also after it or its folder was deleted.
  void Keep();

 private:
  bool Make();

  const std::string path_;
  int file_ = -1;
};

// Returns the standbys that wait for a folder, sorted by name. Deletes the
// files of others.
std::vector<Standby> StandbysOf(const std::string& folder);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_STORAGE_STANDBY_FILE_H_
