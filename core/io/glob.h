#ifndef FEEDMILL_CORE_IO_GLOB_H_
#define FEEDMILL_CORE_IO_GLOB_H_

#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/io/file_system.h"

namespace feedmill {

// Returns the files that a pattern matches, sorted bytewise by name, each once.
// NotFound if nothing matches.
//
// - "*", "?" and "[…]" match within one name, "**" any number of folders.
// - Wildcards do not match hidden files (IsHiddenName).
// - A name that exists is taken literally.
// - A folder stands for the files below it.
// - "[*]", "[?]" and "[[]" are these characters themselves.
//
// "{000..999}" stands for 1,000 names, in the order of the numbers. Each of
// them must exist. The braces are literal in a name that exists.
//
// "manifest:" and the name of a list stand for the files of that list, in its
// order (file_list.h).
absl::StatusOr<std::vector<FoundFile>> FindFiles(const std::string& pattern);

// Returns a file that a pattern matches, the first if that needs no listing of
// all. Of the files behind URLs, only patterns with wildcards need a request; a
// URL without wildcards is returned as it is. NotFound if no file is found
// without a long listing.
absl::StatusOr<FoundFile> FindOneFile(const std::string& pattern);

// Calls FindFiles for each pattern; results are in the order of the patterns. A
// store receives all requests at once.
absl::StatusOr<std::vector<std::vector<FoundFile>>> FindAllFiles(
    std::span<const std::string> patterns);

// Returns the names of the files that a pattern matches.
absl::StatusOr<std::vector<std::string>> ResolveGlob(
    const std::string& pattern);

// Implements FileSystem::Glob with Stat and List. REQUIRES: the pattern is an
// absolute path or a URL.
absl::StatusOr<std::vector<FoundFile>> GlobByListing(
    const FileSystem& files, const std::string& pattern);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_GLOB_H_
