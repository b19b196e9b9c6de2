#ifndef FEEDMILL_CORE_IO_KEY_GLOB_H_
#define FEEDMILL_CORE_IO_KEY_GLOB_H_

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/io/file_identity.h"

namespace feedmill {

// An object of a listing. Its identity has the ETag, else the time of change.
struct ListedObject {
  std::string key;
  FileIdentity identity{};
};

// One answer to a listing.
struct ListPage {
  std::vector<ListedObject> objects{};
  std::vector<std::string> prefixes{};  // common prefixes: folders, with '/'
  bool truncated = false;
  std::string next{};  // continuation token
};

// A listing of the keys that begin with `prefix`.
struct ListTask {
  std::string prefix;
  // True: all of them. False: those without a '/' behind the prefix, and the
  // folders among the others.
  bool deep = false;
};

// Receives a page of the task with this index.
using TakePage = std::function<absl::Status(size_t task, ListPage page)>;
// Lists all tasks, side by side, and calls the function for each page.
using ListKeys = std::function<absl::Status(std::span<const ListTask> tasks,
                                            const TakePage& take)>;

// Objects whose keys match `pattern` as paths match in a file system (glob.h):
// a matching folder stands for the objects below it; names that begin with '.'
// match no wildcard. Keys that end with '/' are folders, and no objects. Lists
// the folders that a wildcard matches side by side, and only these.
absl::StatusOr<std::vector<ListedObject>> GlobKeys(const std::string& pattern,
                                                   const ListKeys& list);

// Objects below folders, of which "" is the whole bucket; no hidden ones.
absl::StatusOr<std::vector<ListedObject>> KeysBelow(
    std::span<const std::string> folders, const ListKeys& list);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_KEY_GLOB_H_
