#ifndef FEEDMILL_CORE_PROCESS_THREAD_LIMIT_H_
#define FEEDMILL_CORE_PROCESS_THREAD_LIMIT_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace feedmill {

// Starts `count` threads together and ends them. Detects a thread limit before
// libraries start their threads; some of them end the process if they cannot.
// Takes about 20 us per thread.
//
// ResourceExhausted names the limits and `remedy`, e.g. "give a worker fewer
// (--threads)". Another process of the same user may still take the threads
// afterwards.
absl::Status CheckThreads(size_t count, std::string_view remedy);

// Explains why no thread, process or memory for one is available, with the
// limits of this process: "… (ulimit -u: 20 processes and threads of this
// user)".
std::string ThreadLimitsText();

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PROCESS_THREAD_LIMIT_H_
