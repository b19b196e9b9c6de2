#ifndef FEEDMILL_CORE_PROCESS_THREAD_LIMIT_H_
#define FEEDMILL_CORE_PROCESS_THREAD_LIMIT_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace feedmill {

// Starts `count` threads together, and ends them: a process that needs more
// threads than it may have learns so before libraries start them, some of which
// end the process if they cannot. Takes about 20 us a thread.
//
// ResourceExhausted names the limits and `remedy`: "give a worker fewer
// (--threads)". Another process of the same user may take the threads
// afterwards.
absl::Status CheckThreads(size_t count, std::string_view remedy);

// Why no thread, process or memory for one can be had, with the limits of this
// process: "… (ulimit -u: 20 processes and threads of this user)".
std::string ThreadLimitsText();

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PROCESS_THREAD_LIMIT_H_
