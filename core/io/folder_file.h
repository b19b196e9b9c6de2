#ifndef FEEDMILL_CORE_IO_FOLDER_FILE_H_
#define FEEDMILL_CORE_IO_FOLDER_FILE_H_

#include <filesystem>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace feedmill {

// Writes files that several processes may write at once, and whose writers may
// be killed. A file is written under a name that ends in ".new" and then
// renamed, so that its final name never shows a partial file. Its writer holds
// an flock on it until the rename. The lock ends with the process, even if the
// process is killed.
//
// Thread-safety: any thread.

// Writes `text` to `folder`/`name`, and creates the folder if needed. If this
// fails, returns Unavailable with the system's reason alone, and leaves no file
// behind.
absl::Status WriteIntoFolder(const std::string& folder, const std::string& name,
                             std::string_view text);

// Writes `text` to `path` in the same way, with the permissions that the umask
// leaves. The folder may hold files of other programs, so the ".new" name
// begins with the name of `path`.
absl::Status ReplaceFile(const std::string& path, std::string_view text);
// Removes unfinished files that killed writers of `path` left beside it.
void DropUnfinishedOf(const std::string& path);

enum class Unfinished {
  kNone,          // its name does not end in ".new"
  kBeingWritten,  // or the state is unknown
  kAbandoned,     // its writer was killed
};
// Returns the state of an entry of a folder that WriteIntoFolder writes to. A
// file is abandoned if no process holds its lock. A file system shared by
// several machines may have no locks, or only locks within one machine. On such
// a file system, the file must also have had no write for an hour.
Unfinished StateOf(const std::filesystem::directory_entry& entry);

// Removes `entry` if it is abandoned. Returns its state before the call.
Unfinished DropUnfinished(const std::filesystem::directory_entry& entry);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_FOLDER_FILE_H_
