#ifndef FEEDMILL_CORE_IO_GLOB_H_
#define FEEDMILL_CORE_IO_GLOB_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/io/file_system.h"

namespace feedmill {

// Files that a pattern matches, sorted bytewise by name, each once. "*", "?"
// and "[…]" match within one name, "**" any number of folders; hidden files do
// not match; a name that exists is taken literally; a folder stands for the
// files below it. "[*]", "[?]" and "[[]" are these characters themselves.
// NotFound if nothing matches.
absl::StatusOr<std::vector<FoundFile>> FindFiles(const std::string& pattern);

// Their names.
absl::StatusOr<std::vector<std::string>> ResolveGlob(
    const std::string& pattern);

// FileSystem::Glob by Stat and List. REQUIRES: the pattern is an absolute path
// or a URL.
absl::StatusOr<std::vector<FoundFile>> GlobByListing(
    const FileSystem& files, const std::string& pattern);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_GLOB_H_
