#ifndef FEEDMILL_CORE_DATASET_PYTHON_FUNCTIONS_H_
#define FEEDMILL_CORE_DATASET_PYTHON_FUNCTIONS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/chunk/generator_state.h"
#include "core/dataset/analysis.h"
#include "core/dataset/function_registry.h"
#include "core/dataset/generator_source.h"
#include "core/dataset/python_versions.h"
#include "feedmill/dataset_options.h"
#include "feedmill/element.h"

// The Python functions of steps, as the engine sees them. core/python runs them
// in processes.

namespace feedmill {

// A step's function, and the types of what it gets and makes.
struct PythonCall {
  PythonStep step;
  ElementSpec input;
  ElementSpec output;
};

// A function that is ready to be called.
//
// Thread-safety: any thread.
class PythonFunction {
 public:
  virtual ~PythonFunction() = default;

  // Loads the function. FailedPrecondition says why this process cannot run
  // it: versions differ, or a module is missing.
  virtual absl::Status Prepare() = 0;
  // Computes `rows` rows of `inputs`, the components of PythonCall::input.
  // `bits` are the random bits of each row. `outputs` has a column for each
  // component of PythonCall::output; null if it is not needed.
  // DataLoss if the function failed in row `failed_row`; all earlier rows are
  // good. Other errors are of this process.
  virtual absl::Status Run(std::span<const Column* const> inputs,
                           const Column& bits, size_t rows,
                           std::span<OutputColumn* const> outputs,
                           size_t& failed_row) = 0;
};

// The elements of a generator's shards.
//
// Thread-safety: any thread.
class PythonGenerator {
 public:
  // Elements of a shard that follow each other.
  struct Rows {
    size_t rows = 0;
    bool more = true;  // the shard may have more elements
    // Not OK if the element after them cannot be made; nor can later ones.
    absl::Status error;
  };
  virtual ~PythonGenerator() = default;

  // See PythonFunction.
  virtual absl::Status Prepare() = 0;
  // Makes the elements of `shard` from number `row` on, about `bytes_max` bytes
  // of them. `outputs` has a column for each component; null if it is not
  // needed. A returned error is of this process.
  virtual absl::StatusOr<Rows> Read(uint64_t shard, uint64_t row,
                                    size_t bytes_max,
                                    std::span<OutputColumn* const> outputs) = 0;
  // Returns the last kept state of `shard` at or before `row`; nullopt if none
  // is kept.
  virtual std::optional<RowState> StateBefore(uint64_t shard, uint64_t row) = 0;
  // Keeps a state of `shard` that another process made. No effect if a state of
  // that row is kept.
  virtual void Restore(uint64_t shard, RowState state) = 0;
};

// Runs the Python functions of a process.
//
// Thread-safety: any thread.
class PythonFunctions {
 public:
  virtual ~PythonFunctions() = default;
  // Asks the interpreter for its version and its packages: starts a process and
  // waits for it. FailedPrecondition if it is no Python 3.10 or later.
  virtual absl::StatusOr<PythonInterpreter> Describe() = 0;
  // Returns the function of a step. Equal calls share it while it is used.
  // Cheap: it starts nothing.
  virtual std::shared_ptr<PythonFunction> Load(const PythonCall& call) = 0;
  virtual std::shared_ptr<PythonGenerator> LoadGenerator(
      const GeneratorSource& source) = 0;
};

// Returns the components of PythonStep::output or GeneratorSource::output.
ElementSpec SpecOfPython(const Features& output);
// InvalidArgument if the code or the limits of a function make no sense.
absl::Status CheckPythonCode(const std::string& function,
                             double timeout_seconds, int64_t memory_bytes);
// InvalidArgument if a component occurs twice, has a default, or has no name
// beside others.
absl::Status CheckPythonOutput(const Features& output);
// Returns what the step makes: PythonStep::output, or one bool of a filter.
ElementSpec PythonOutput(const PythonStep& step);
// Returns the call of steps[s]. REQUIRES: it is a PythonStep.
PythonCall PythonCallOf(const AnalyzedGraph& graph, size_t s);

// The steps that a process runs.
enum class PythonPart { kAll, kWorker, kClientStage };

// Returns what the functions of `part` of the graph need, each once.
std::vector<PythonNeeds> PythonNeedsOf(const AnalyzedGraph& graph,
                                       PythonPart part);

// Loads the functions of `graph` that `part` runs. They stay loaded as long as
// the result lives. FailedPrecondition names the process (`who`: "a worker"),
// what differs, and what to set.
absl::StatusOr<std::vector<std::shared_ptr<void>>> LoadPython(
    const AnalyzedGraph& graph, const FunctionRegistry& registry,
    std::string_view who, PythonPart part);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_PYTHON_FUNCTIONS_H_
