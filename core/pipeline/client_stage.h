#ifndef FEEDMILL_CORE_PIPELINE_CLIENT_STAGE_H_
#define FEEDMILL_CORE_PIPELINE_CLIENT_STAGE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/chunk/cursor.h"
#include "core/chunk/piece.h"
#include "core/dataset/function_registry.h"
#include "core/pipeline/read_place.h"
#include "core/plan/plan.h"
#include "feedmill/chunk.h"

namespace feedmill {

// The client's part of a pipeline: from the first step that needs an element's
// place after a count-changing step. Sees the sequence in order, holds a
// bounded state (what its steps are defined to hold). Not thread-safe; no I/O.
class ClientStage {
 public:
  // `trace`: outputs say what they were made of (slower).
  static absl::StatusOr<std::unique_ptr<ClientStage>> Make(
      std::shared_ptr<const Plan> plan,
      std::shared_ptr<const FunctionRegistry> registry, bool trace = false);
  virtual ~ClientStage() = default;

  // Rows that leave the stage. Readers that share a job report progress in
  // input rows: `inputs` holds, for each row, the number of input rows up to
  // and including its own. Empty `inputs`: first_input, first_input + 1, …
  struct Output {
    Chunk chunk;
    std::vector<uint64_t> inputs{};
    uint64_t first_input = 0;
    // The pass (Plan::ReachedPass) of the last record that was pushed before
    // these rows came out. 0 where the graph is numbered and is no sharer's:
    // an element's number says it there.
    uint64_t pass = 0;
    // Traced: the cursors of the input rows that made each row.
    std::vector<std::vector<Cursor>> origins{};

    uint64_t InputOf(size_t row) const {
      return inputs.empty() ? first_input + row : inputs[row];
    }
  };

  // Takes the next piece of the sequence; its error, if any, is the caller's
  // to deliver after the outputs. Not OK: a data error at this point.
  virtual absl::Status Push(const Piece& piece) = 0;
  // Lets short batches out although more may come (sharers: nothing is there
  // for now); what comes later begins new ones.
  virtual absl::Status Flush() = 0;
  // No more pieces will come: lets short batches out.
  virtual absl::Status Finish() = 0;
  // The next output, if any.
  virtual bool Pop(Output& out) = 0;
  // What it holds, between two pieces; and back, in a stage that was fed
  // nothing: `next` is where the next piece begins. InvalidArgument if the
  // state is no state of this stage.
  virtual StageState Save() const = 0;
  virtual absl::Status Restore(const StageState& state, Cursor next) = 0;
  // Nothing that could still be pushed changes the output (a take is full).
  virtual bool done() const = 0;
  // The first position that can still change the output: those between the
  // last piece and it need not be pushed (nor made), e.g. the rest of a pass
  // whose take is full. At most the end of the last piece if all can.
  virtual uint64_t needed_from() const = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_CLIENT_STAGE_H_
