#ifndef FEEDMILL_CORE_SOURCES_FOLDER_FILE_H_
#define FEEDMILL_CORE_SOURCES_FOLDER_FILE_H_

#include <filesystem>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace feedmill {

// Files of folders that several processes write to at once, and that may be
// killed while they do. Thread-safety: any thread.

// Writes `text` to `folder`/`name`, and makes the folder: whoever sees the name
// sees all of it. Unavailable with the system's reason alone if that fails;
// then nothing is left of it.
absl::Status WriteIntoFolder(const std::string& folder, const std::string& name,
                             std::string_view text);

// Removes what a writer that was killed an hour ago has left, if `entry` is
// that. No error where it is gone already.
void DropUnfinished(const std::filesystem::directory_entry& entry);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_FOLDER_FILE_H_
