#ifndef FEEDMILL_CORE_PIPELINE_SEQUENCE_READER_H_
#define FEEDMILL_CORE_PIPELINE_SEQUENCE_READER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/chunk/cursor.h"
#include "core/chunk/piece.h"
#include "core/dataset/function_registry.h"
#include "core/pipeline/client_stage.h"
#include "core/pipeline/infinite_repeat_monitor.h"
#include "core/pipeline/piece_source.h"
#include "core/pipeline/read_place.h"
#include "core/pipeline/row_pace.h"
#include "core/pipeline/skip_count.h"
#include "core/plan/plan.h"

namespace feedmill {

// Turns the pieces of a sequence into the chunks that its reader hands out.
//   - runs the client's steps
//   - drops elements of other ranks, and elements to skip
//   - counts elements that on_error left out
//   - keeps the place for tokens
//   - detects passes of an infinite sequence that make no element
// Accepts the pieces of a PieceSource. An owner of both asks Next for an
// output. If there is none, it calls RunRows if has_rows(), or takes a piece
// and lets the sequence accept it, until end(). If the sequence is done(), it
// calls Finish.
//
// Callers that make the pieces themselves push them instead: input_stream.h for
// an input of another pipeline, provenance.h for a search for one element.
//
// Not thread-safe; no I/O except `on_skipped`. An error of the data becomes
// end() and comes after the elements before it.
class SequenceReader {
 public:
  struct Options {
    // Elements to hand out. Not used for `shared`.
    ReadRules rules{};
    // Place to continue from. Absent: the beginning.
    std::optional<ReadPlace> resume{};
    // SourcePlan::round.
    uint64_t source_round = 0;
    // Identifies the sequence to `on_skipped` (PlanIdOf).
    std::string plan_id{};
    // Called for each element that on_error left out. May be null.
    OnSkipped on_skipped{};
    // True: the cap of the pipeline's on_error applies to the count. The count
    // of an input belongs to the whole pipeline.
    bool capped = true;
    // True: PlaceBefore and PassBefore work. It costs a copy of the client
    // steps' state for each piece.
    bool keeps_place = true;
    // Readers share the job: pieces come in any order, and some never come.
    bool shared = false;
    // AnalyzedGraph::elements; nullopt also for `shared` and for a part of the
    // sequence.
    std::optional<uint64_t> elements{};
    // False: the plan has more elements than the sequence, so size() is unknown
    // (passes of mode off).
    bool counted = true;
    // True: outputs name the input rows that made them (slower).
    bool trace = false;
  };
  // InvalidArgument if the place does not fit the pipeline's steps.
  static absl::StatusOr<std::unique_ptr<SequenceReader>> Make(
      std::shared_ptr<const Plan> plan,
      std::shared_ptr<const FunctionRegistry> registry, Options options);

  // ---- pieces in
  // Handles what Take of `source` returned, and reports to the source which
  // positions are not needed. REQUIRES: Next returned null; no end().
  void Accept(PieceSource& source,
              absl::StatusOr<PieceSource::TakeResult> taken, Piece piece);
  // True if rows of the last piece wait for the client's steps. Slow steps run
  // a few rows at a time, so that the first outputs need not wait for the last.
  bool has_rows() const { return rows_.has_value(); }
  // Runs the next of these rows. REQUIRES: has_rows(); Next returned null; no
  // end().
  void RunRows(PieceSource& source);
  // Adds the next piece. Positions before needed() are ignored.
  // REQUIRES: Next returned null; no end().
  void Push(Piece piece);
  // No piece is left: releases short batches, then the end.
  void Finish();
  // Shared: releases short batches although more pieces may come.
  void Flush();
  // The sequence ends here, after the outputs that are ready. The first end
  // counts.
  void EndWith(absl::Status status);
  // Positions [begin, end) were taken and had no row.
  void Pass(Cursor begin, Cursor end);
  // Shared: drops the outputs, and the rows that the client's steps hold.
  absl::Status Restart();

  // First position that can still change the output. Earlier ones need not be
  // pushed (nor made).
  uint64_t needed() const { return needed_; }
  // True if no piece can change the output any more.
  bool done() const;

  // ---- chunks out
  // Returns the next output that has rows for this reader; null: none is ready.
  // The output is valid until the next call or Restart.
  ClientStage::Output* Next();
  // Set at the end; OK is the end of the data. It counts once Next returns
  // null.
  const std::optional<absl::Status>& end() const { return end_; }
  // Returns end() or, if that is OK, an error if the sequence has another
  // number of elements than its source promised. REQUIRES: Next returned null;
  // end().
  absl::Status FinalStatus() const;

  // ---- the place, after the last output
  // Place in the pipeline before the last `unread` elements that Next gave;
  // nullopt if they are more than the last chunk's. REQUIRES: keeps_place.
  std::optional<ReadPlace> PlaceBefore(uint64_t unread) const;
  // State of the client's steps before the next piece. REQUIRES: Next returned
  // null.
  StageState SaveStage() const { return stage_->Save(); }
  // Pass (Plan::ReachedPass) of the last element that Next gave, except its
  // last `unread`. 0 before the first one.
  uint64_t PassBefore(uint64_t unread) const;
  // Number of elements of the sequence, of all ranks. Nullopt if only reading
  // can tell, or if the sequence is infinite.
  std::optional<uint64_t> size() const;
  // Number of elements of all ranks so far. At the end, size() of a sequence
  // that only reading can count.
  uint64_t made() const {
    return options_.rules.sequenced ? reached_ : tracker_.next();
  }
  // Number of elements that are left after the last one except `unread`.
  // Nullopt if only reading can tell.
  std::optional<uint64_t> LeftBefore(uint64_t unread) const;
  // Number of elements that on_error left out, those before `resume` included.
  uint64_t skipped() const { return skips_.count(); }
  const Plan& plan() const { return *plan_; }
  const std::string& plan_id() const { return options_.plan_id; }

 private:
  SequenceReader(std::shared_ptr<const Plan> plan,
                 std::shared_ptr<const FunctionRegistry> registry,
                 Options options);
  bool numbered() const { return options_.rules.numbered && !options_.shared; }
  Piece OwnRows(Piece piece) const;
  void Account(const Piece& piece);
  void Watch(absl::Status status) {
    if (!status.ok()) EndWith(std::move(status));
  }

  const std::shared_ptr<const Plan> plan_;
  const std::shared_ptr<const FunctionRegistry> registry_;
  const Options options_;
  std::unique_ptr<ClientStage> stage_;
  InfiniteRepeatMonitor watch_;
  PlaceTracker tracker_;
  SkipCount skips_;
  uint64_t needed_ = 0;
  uint64_t reached_ = 0;         // elements so far, of a sequenced run
  std::optional<Piece> rows_;    // of the last piece: not pushed yet
  RowPace pace_;                 // of slow steps
  Cursor pushed_;                // end of the last piece
  GeneratorStatePtr generator_;  // the last state of a generator that came
  size_t outputs_ = 0;           // chunks made that watch_ has not counted
  uint64_t pass_ = 0;            // of the last output
  bool any_output_ = false;
  bool returned_ = false;  // the stage's first output was returned by Next
  std::optional<absl::Status> end_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_SEQUENCE_READER_H_
