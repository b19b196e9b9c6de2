#ifndef FEEDMILL_CORE_IO_GLOB_H_
#define FEEDMILL_CORE_IO_GLOB_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace feedmill {

// Sorted bytewise; hidden files do not match; a name that exists is taken
// literally; a folder stands for the files below it.
absl::StatusOr<std::vector<std::string>> ResolveGlob(const std::string& glob);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_GLOB_H_
