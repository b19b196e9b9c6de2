#ifndef FEEDMILL_CORE_IO_FILE_LIST_H_
#define FEEDMILL_CORE_IO_FILE_LIST_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/io/file_system.h"

namespace feedmill {

// A list of files stands for them where a pattern may: "manifest:" and the
// list's own name. Each line is a JSON object:
//
//   {"url": "s3://bucket/1.tfrecord", "size": 1048576, "etag": "\"9b2cf\""}
//
// `url`: a URL or path, no pattern; a path is relative to the list. `size`
// (bytes) and `etag` are optional. A URL with a size is not looked at before it
// is read. If the etag is missing, too, versions are told apart by size.

// The list's name; "" if `pattern` is none.
std::string_view FileListOf(std::string_view pattern);
// The reverse.
std::string FileListPattern(std::string_view list);

// Reads the list `name`. Returns its files in their order. NotFound if it has
// none; InvalidArgument names the line.
absl::StatusOr<std::vector<FoundFile>> ReadFileList(const std::string& name);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_FILE_LIST_H_
