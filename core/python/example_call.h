#ifndef FEEDMILL_CORE_PYTHON_EXAMPLE_CALL_H_
#define FEEDMILL_CORE_PYTHON_EXAMPLE_CALL_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "core/python/python_pool.h"

namespace feedmill {

// A function whose results are not known.
struct ExampleCall {
  std::string function;  // Base64
  std::string setup;     // JSON for feedmill_process, with "call": "example"
  double timeout_seconds = 0;
  int64_t memory_bytes = 0;
};

// Calls a function with examples, in a process that ends with the call, and
// returns what example_process.py says about the results, as JSON.
// InvalidArgument if the function or the limits make no sense;
// FailedPrecondition if the function cannot be loaded; DataLoss if it ends its
// process or takes too long; Cancelled if a ReadStop of this thread stops.
absl::StatusOr<std::string> CallWithExamples(const PythonOptions& options,
                                             const ExampleCall& call);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PYTHON_EXAMPLE_CALL_H_
