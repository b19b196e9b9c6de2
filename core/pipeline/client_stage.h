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
#include "feedmill/element.h"

namespace feedmill {

class ClientStep;

// The part of a pipeline that runs on the client. It begins with the first step
// that needs an element's place after a count-changing step. It sees the
// sequence in order and holds a bounded state: the rows that its steps have to
// hold. Not thread-safe; no I/O.
class ClientStage final {
 public:
  struct Options {
    bool passes = true;  // outputs have their pass
    bool trace = false;  // outputs name the input rows that made them (slower)
  };

  static absl::StatusOr<std::unique_ptr<ClientStage>> Make(
      std::shared_ptr<const Plan> plan,
      std::shared_ptr<const FunctionRegistry> registry, Options options);
  ~ClientStage();

  // Rows that leave the stage. Readers that share a job report progress in
  // input rows: `inputs` holds, for each row, the number of input rows up to
  // and including its own. If `inputs` is empty, the numbers are first_input,
  // first_input + 1, …
  struct Output {
    Chunk chunk;
    std::vector<uint64_t> inputs{};
    uint64_t first_input = 0;
    // The pass (Plan::ReachedPass) of the last record pushed before these rows.
    // 0 for a numbered graph that no readers share: the number of an element
    // determines its pass.
    uint64_t pass = 0;
    // If traced: the cursors of the input rows that made each row.
    std::vector<std::vector<Cursor>> origins{};

    uint64_t InputOf(size_t row) const {
      return inputs.empty() ? first_input + row : inputs[row];
    }
  };

  // Takes the next piece of the sequence. The caller delivers the piece's
  // error, if any, after the outputs. Returns an error if the data is bad at
  // this point.
  absl::Status Push(const Piece& piece);
  // Emits short batches although more pieces may come: a reader that shares a
  // job has no element for now. Later rows begin new batches.
  absl::Status Flush();
  // Emits short batches. Call it after the last piece.
  absl::Status Finish();
  // Number of outputs that PopFront has not removed.
  size_t ready() const;
  // The first output, which stays in place until PopFront; null: there is none.
  Output* front();
  void PopFront();
  // Save returns the state between two pieces. Restore sets it in a stage that
  // has had no input; `next` is the begin of the next piece. InvalidArgument if
  // the state does not fit this stage.
  StageState Save() const;
  absl::Status Restore(const StageState& state, Cursor next);
  // True if a row of a piece may take microseconds or more, and fewer rows less
  // time.
  bool paced() const;
  // True if no further piece can change the output, e.g. because a take is
  // full.
  bool done() const;
  // First position that can still change the output. Earlier positions after
  // the last piece need neither be pushed nor made, e.g. the rest of a pass
  // whose take is full. At most the end of the last piece if every position
  // matters.
  uint64_t needed_from() const;

 private:
  class OutputStep;

  ClientStage(std::shared_ptr<const Plan> plan, bool random, Options options,
              std::vector<std::unique_ptr<ClientStep>> steps);
  template <class F>
  absl::Status Guarded(const F& run);
  absl::Status PushPasses(const Piece& piece);
  absl::Status PushRows(const Piece& piece, const std::vector<Cursor>& cursors,
                        size_t begin, size_t end);
  void NotePass(uint64_t p);
  uint64_t NextBoundary() const;
  absl::Status AdvanceTo(uint64_t p);

  const std::shared_ptr<const Plan> plan_;
  const bool random_;
  const bool trace_;
  const bool tells_passes_;  // rows of two passes are pushed separately
  const std::vector<std::unique_ptr<ClientStep>> steps_;
  const std::unique_ptr<OutputStep> output_;
  uint64_t pass_length_ = 0;  // the shortest
  uint64_t position_ = 0;     // earlier positions were pushed or skipped
  uint64_t input_rows_ = 0;
  // Known positions of the last row's pass.
  uint64_t pass_begin_ = 0;
  uint64_t pass_end_ = 0;
  absl::Status error_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_CLIENT_STAGE_H_
