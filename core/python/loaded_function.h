#ifndef FEEDMILL_CORE_PYTHON_LOADED_FUNCTION_H_
#define FEEDMILL_CORE_PYTHON_LOADED_FUNCTION_H_

#include <memory>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "core/python/python_pool.h"
#include "core/python/python_process.h"

namespace feedmill {

// A thread that starts processes. They end with the thread that started them,
// so it lives as long as they do. Private to core/python.
class Starter;
std::shared_ptr<Starter> MakeStarter();

// A function that a zygote has loaded: it starts at the first use, and again
// after it has ended. Private to core/python.
//
// Thread-safety: any thread.
class LoadedFunction {
 public:
  // `setup`: JSON for feedmill_process. `function`: Base64.
  LoadedFunction(PythonOptions options, std::shared_ptr<Starter> starter,
                 std::string setup, std::string function);

  // Loads the function.
  absl::Status Prepare() { return Zygote().status(); }
  // Forks a process. Starts another zygote if the last one has ended.
  absl::StatusOr<std::unique_ptr<PythonProcess>> NewProcess();

 private:
  absl::StatusOr<std::shared_ptr<PythonZygote>> Zygote();

  const PythonOptions options_;
  const std::shared_ptr<Starter> starter_;
  const std::string setup_;
  const std::string function_;
  std::mutex starting_;
  std::mutex mu_;
  std::shared_ptr<PythonZygote> zygote_;  // guarded by mu_
};

// Times in a row that a zygote may end while it makes the same elements. Its
// processes end with it, which is the fault of none of their elements.
inline constexpr int kLostZygotesMax = 3;

// Why a process ended or hung, as an error of the element that it was making.
absl::Status EndedError(const PythonProcess::Outcome& outcome,
                        const absl::StatusOr<ProcessEnd>& end,
                        double timeout_seconds);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PYTHON_LOADED_FUNCTION_H_
