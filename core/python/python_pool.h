#ifndef FEEDMILL_CORE_PYTHON_PYTHON_POOL_H_
#define FEEDMILL_CORE_PYTHON_PYTHON_POOL_H_

#include <memory>
#include <string>

#include "core/dataset/python_functions.h"

namespace feedmill {

struct PythonOptions {
  // The interpreter, which has numpy and cloudpickle. An absolute path.
  std::string interpreter;
  // Its PYTHONPATH; "": as of this process.
  std::string modules{};
};

// Returns the Python functions of a process: each function is loaded once, by a
// process of the interpreter, which forks a process for each thread that calls
// it. The forks end with the function's last user. The process that loaded the
// function ends with the result, or when it is not among the last four that
// were used. All end with this process.
// InvalidArgument if the interpreter is no absolute path of a file that can be
// executed. Starts nothing.
absl::StatusOr<std::shared_ptr<PythonFunctions>> MakePythonPool(
    PythonOptions options);

// Returns `functions` with such Python functions; as they are if the
// interpreter is "".
absl::StatusOr<std::shared_ptr<const FunctionRegistry>> WithPython(
    std::shared_ptr<const FunctionRegistry> functions, PythonOptions options);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PYTHON_PYTHON_POOL_H_
