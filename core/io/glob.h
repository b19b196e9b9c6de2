#ifndef FEEDMILL_CORE_IO_GLOB_H_
#define FEEDMILL_CORE_IO_GLOB_H_

#include <span>
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
//
// "{000..999}" stands for 1,000 names, in the order of the numbers, each of
// which must be there. It is literal in a name that exists.
//
// "manifest:" and the name of a list stand for the files of that list, in its
// order (file_list.h).
absl::StatusOr<std::vector<FoundFile>> FindFiles(const std::string& pattern);

// The same for each pattern, in their order; a store is asked for all at once.
absl::StatusOr<std::vector<std::vector<FoundFile>>> FindAllFiles(
    std::span<const std::string> patterns);

// Names of the files that a pattern matches.
absl::StatusOr<std::vector<std::string>> ResolveGlob(
    const std::string& pattern);

// FileSystem::Glob by Stat and List. REQUIRES: the pattern is an absolute path
// or a URL.
absl::StatusOr<std::vector<FoundFile>> GlobByListing(
    const FileSystem& files, const std::string& pattern);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_GLOB_H_
