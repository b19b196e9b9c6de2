#ifndef FEEDMILL_CORE_IO_FOLDER_FILE_H_
#define FEEDMILL_CORE_IO_FOLDER_FILE_H_

#include <filesystem>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace feedmill {

// Files that several processes write at once, and that may be killed while they
// do. A file is written under a name that ends in ".new" and then renamed, so
// that whoever sees its name sees all of it. Its writer holds an flock on it
// meanwhile, which ends with the process, however that ends.
//
// Thread-safety: any thread.

// Writes `text` to `folder`/`name`, and makes the folder. Unavailable with the
// system's reason alone if that fails; then nothing is left of it.
absl::Status WriteIntoFolder(const std::string& folder, const std::string& name,
                             std::string_view text);

// Writes `text` to `path`, with the permissions that the umask leaves. As
// above, in a folder that may hold other people's files: the name that ends in
// ".new" begins with that of `path`.
absl::Status ReplaceFile(const std::string& path, std::string_view text);
// Removes what killed writers of `path` left beside it.
void DropUnfinishedOf(const std::string& path);

enum class Unfinished {
  kNone,          // it has another name
  kBeingWritten,  // or that cannot be told
  kAbandoned,     // its writer was killed
};
// Of an entry of a folder that WriteIntoFolder writes to. A file is abandoned
// if nobody holds its lock. A file system that several machines share may not
// have locks, or have them within a machine only; there a file is abandoned if,
// besides, nothing was written to it for an hour.
Unfinished StateOf(const std::filesystem::directory_entry& entry);

// Removes `entry` if it is abandoned. Returns what it was.
Unfinished DropUnfinished(const std::filesystem::directory_entry& entry);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_FOLDER_FILE_H_
