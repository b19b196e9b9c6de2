#ifndef FEEDMILL_CORE_IO_FILE_LIST_H_
#define FEEDMILL_CORE_IO_FILE_LIST_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/io/file_system.h"

namespace feedmill {

// The pattern "manifest:LIST" stands for the files that LIST names. Each line
// of LIST is a URL or path, or a JSON object:
//
//   {"url": "s3://bucket/1.tfrecord", "size": 1048576, "etag": "\"9b2cf\""}
//
// `url`: a URL or path, no pattern. A path is relative to the list. `size`
// (bytes) and `etag` are optional. If `size` is given, a URL is not checked
// before it is read. If only `size` is given, the size alone identifies the
// version.

// Returns the name of the list, or "" if `pattern` names no list.
std::string_view FileListOf(std::string_view pattern);

// Returns the files of a list with this text, in their order. `name`: of the
// list. Errors: see ReadFileList.
absl::StatusOr<std::vector<FoundFile>> ParseFileList(std::string_view text,
                                                     const std::string& name);

// Returns a name in a list as a process opens it: a path is relative to
// `folder`, which ends with '/'. InvalidArgument, which names `what`, if it is
// none.
absl::StatusOr<std::string> NameInFolder(const std::string& folder,
                                         std::string name,
                                         std::string_view what);

// Returns the first file of the list `name`, and reads only the beginning of
// the list. Errors: see ReadFileList.
absl::StatusOr<FoundFile> FirstOfFileList(const std::string& name);

// Reads the list `name`. Returns its files in their order. NotFound if the list
// is empty. InvalidArgument names a bad line.
absl::StatusOr<std::vector<FoundFile>> ReadFileList(const std::string& name);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_FILE_LIST_H_
