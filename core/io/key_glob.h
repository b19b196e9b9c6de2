#ifndef FEEDMILL_CORE_IO_KEY_GLOB_H_
#define FEEDMILL_CORE_IO_KEY_GLOB_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/io/file_identity.h"
#include "core/io/file_system.h"

namespace feedmill {

// An object of a listing. Its identity has the ETag, or else the time of
// change.
struct ListedObject {
  std::string key;
  FileIdentity identity{};
  int64_t written_ns = 0;  // time of change since 1970; 0: unknown

  bool is_empty() const {
    return identity.size == 0 && !KnowsSizeOnly(identity);
  }
};

// One answer to a listing.
struct ListPage {
  std::vector<ListedObject> objects{};
  std::vector<std::string> prefixes{};  // common prefixes: folders, with '/'
  bool truncated = false;
  std::string next{};  // continuation token
  // True if `objects` has all keys that begin with the prefix, although the
  // task is not deep: some stores list in no other way.
  bool deep = false;
};

// A listing of the keys that begin with `prefix`.
struct ListTask {
  std::string prefix;
  // True: all keys. False: keys without a '/' behind the prefix, and the common
  // prefixes of all other keys.
  bool deep = false;
  // True: only the key `prefix` and keys below it are needed.
  bool is_name = false;
  // Parts of a pattern. Only hidden names that match one of them are needed.
  std::vector<std::string> hidden{};
};

// Receives a page of the task with this index.
using TakePage = std::function<absl::Status(size_t task, ListPage page)>;
// Lists all tasks concurrently, and calls `take` for each page.
using ListKeys = std::function<absl::Status(std::span<const ListTask> tasks,
                                            const TakePage& take)>;

// Returns the objects whose keys match `pattern` as paths do (glob.h). A
// matching folder stands for the objects below it. Wildcards do not match names
// that are hidden (IsHiddenName). A key that ends with '/' is a folder, not an
// object. So is an empty object "d" if there are objects "d/…".
// Only folders that a wildcard matches are listed, concurrently.
absl::StatusOr<std::vector<ListedObject>> GlobKeys(const std::string& pattern,
                                                   const ListKeys& list);

// Returns the key of an object that GlobKeys would return; NotFound if there is
// none. Lists no further pages once one is found.
absl::StatusOr<std::string> FindOneKey(const std::string& pattern,
                                       const ListKeys& list);

// Returns the objects below a folder, without hidden ones. `prefix`: of the
// folder; "" is the whole bucket.
absl::StatusOr<std::vector<ListedObject>> KeysBelow(const std::string& prefix,
                                                    const ListKeys& list);

// Returns the objects as files. name_of(key): the name of a key. key_of(name):
// the key of a name, whose options a key may end like; such a key is an error.
absl::StatusOr<std::vector<FoundFile>> FilesOfObjects(
    std::vector<ListedObject> objects,
    const std::function<std::string(const std::string& key)>& name_of,
    const std::function<absl::StatusOr<std::string>(const std::string& name)>&
        key_of);

// Appends the entries of a folder that a page has. `prefix`: of the folder.
void AddEntries(const std::string& prefix, ListPage page,
                std::vector<FileSystem::Entry>& entries);

// True if `pattern` stands for the file `name`, whether it is there or not: the
// name matches, or is below a folder that does. False for patterns with ranges
// of numbers that stand for more than 10,000 names.
bool StandsForFile(const std::string& pattern, std::string_view name);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_KEY_GLOB_H_
