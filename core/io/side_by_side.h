#ifndef FEEDMILL_CORE_IO_SIDE_BY_SIDE_H_
#define FEEDMILL_CORE_IO_SIDE_BY_SIDE_H_

#include <cstddef>
#include <functional>

#include "absl/status/status.h"

namespace feedmill {

// Calls `work` for 0 … count - 1, up to `threads` calls at the same time, for
// work that waits for a network. Begins no more after an error; returns the one
// of the lowest number among the calls that were made. A ReadStop of the caller
// counts for all.
absl::Status ForEachSideBySide(size_t count, size_t threads,
                               const std::function<absl::Status(size_t)>& work);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_SIDE_BY_SIDE_H_
