#ifndef FEEDMILL_CORE_PYTHON_PYTHON_GENERATOR_H_
#define FEEDMILL_CORE_PYTHON_PYTHON_GENERATOR_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "core/chunk/row_states.h"
#include "core/dataset/python_functions.h"
#include "core/python/loaded_function.h"
#include "core/python/python_process.h"

namespace feedmill {

// Runs a generator: one process for each shard that is read. Private to
// core/python.
//
// A process keeps its place in a shard, so that the next elements cost no
// repetition. Elements elsewhere are found by a state of the iterator (its
// state_dict), or by making the elements before them again.
class ProcessGenerator final : public PythonGenerator {
 public:
  ProcessGenerator(std::shared_ptr<LoadedFunction> loaded,
                   GeneratorSource source);

  absl::Status Prepare() override { return loaded_->Prepare(); }
  // Ends the processes, which no call uses.
  void EndIdle();
  absl::StatusOr<Rows> Read(uint64_t shard, uint64_t row, size_t bytes_max,
                            std::span<OutputColumn* const> outputs) override;
  std::optional<RowState> StateBefore(uint64_t shard, uint64_t row) override;
  void Restore(uint64_t shard, RowState state) override;

 private:
  using Place = std::pair<uint64_t, uint64_t>;  // shard, next row
  struct Parked {
    std::unique_ptr<PythonProcess> process;
    std::optional<Place> place;  // nullopt: its shard is read to the end
  };
  absl::StatusOr<Parked> TakeProcess(const Place& place);
  void Park(Parked parked);
  // Asks a process for at most `rows` rows.
  absl::StatusOr<PythonProcess::Outcome> Ask(Parked& parked, const Place& place,
                                             uint64_t rows, size_t bytes_max);
  absl::StatusOr<Rows> TakeRows(Parked parked, const Place& place,
                                const PythonProcess::Outcome& outcome,
                                std::span<OutputColumn* const> outputs);

  const std::shared_ptr<LoadedFunction> loaded_;
  const GeneratorSource source_;
  const ElementSpec output_;
  std::mutex mu_;
  std::list<Parked> parked_;  // newest first; guarded by mu_
  RowStates states_;          // guarded by mu_
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PYTHON_PYTHON_GENERATOR_H_
