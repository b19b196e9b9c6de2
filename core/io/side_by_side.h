#ifndef FEEDMILL_CORE_IO_SIDE_BY_SIDE_H_
#define FEEDMILL_CORE_IO_SIDE_BY_SIDE_H_

#include <cstddef>
#include <functional>

#include "absl/status/status.h"

namespace feedmill {

// Calls `work` for 0 … count - 1, with up to `threads` concurrent calls, for
// work that waits for a network. Starts no more calls after an error. Returns
// the error of the lowest number among the calls made. A ReadStop of the caller
// applies to all calls. Throws what a call throws, when all calls have ended.
absl::Status ForEachSideBySide(size_t count, size_t threads,
                               const std::function<absl::Status(size_t)>& work);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_SIDE_BY_SIDE_H_
