#ifndef FEEDMILL_CORE_PIPELINE_WORKER_STAGE_H_
#define FEEDMILL_CORE_PIPELINE_WORKER_STAGE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/byte_budget.h"
#include "core/chunk/buffer_builder.h"
#include "core/chunk/cursor.h"
#include "core/chunk/generator_state.h"
#include "core/chunk/piece.h"
#include "core/dataset/analysis.h"
#include "core/dataset/function_registry.h"
#include "core/io/manifest.h"
#include "core/plan/plan.h"
#include "core/sources/record_source.h"
#include "feedmill/element.h"

namespace feedmill {

struct PieceDraft;
struct StageContext;
class InputService;
class StreamThreads;
struct StageProgram;
struct StageScratch;

// The worker's part of a pipeline, compiled: it maps positions to elements. It
// is a pure function of the position and of the files, on any thread and
// machine and with any division into pieces.
//
// Thread-safety: Run may be called by many threads at once, each with its own
// Scratch.
class WorkerStage final : public std::enable_shared_from_this<WorkerStage> {
 public:
  // For Scratch::piece_time, if a reader may wait for the piece.
  static constexpr std::chrono::nanoseconds kPieceTime =
      std::chrono::milliseconds(50);

  // Memory that one thread reuses between calls: decoders, read buffers,
  // blocks in cache.
  class Scratch {
   public:
    virtual ~Scratch() = default;
    // Source of the memory of a piece's large columns (null: malloc), and of
    // nothing else.
    std::shared_ptr<BlockSource> blocks;
    // True if pieces may be views of mapped files, because they stay in this
    // process.
    bool takes_views = false;
    // Time after which a piece ends, so that its reader need not wait for slow
    // elements behind it.
    std::chrono::nanoseconds piece_time = std::chrono::nanoseconds::max();
    // Most rows to compute together, and when the piece ends. Run sets them;
    // MakeAt and MakeInBlock leave them to the caller.
    size_t rows_max = std::numeric_limits<size_t>::max();
    std::chrono::steady_clock::time_point ends =
        std::chrono::steady_clock::time_point::max();
    // True if the thread may wait for other workers, because other threads run
    // this worker's own work meanwhile.
    bool beside = false;
    // Set by Run: the next pieces wait for other workers, or would if they
    // might.
    bool wants_beside = false;
  };

  // `threads`, `service`: see StageContext.
  static absl::StatusOr<std::shared_ptr<const WorkerStage>> Make(
      std::shared_ptr<const Plan> plan,
      std::shared_ptr<const Manifest> manifest,
      std::shared_ptr<const FunctionRegistry> registry,
      std::shared_ptr<StreamThreads> threads = nullptr,
      std::shared_ptr<InputService> service = nullptr);
  // Same for a part of a pipeline: an input of a combining source, or the steps
  // before a cache.
  static absl::StatusOr<std::shared_ptr<const WorkerStage>> Make(
      std::shared_ptr<const Plan> plan,
      std::shared_ptr<const Manifest> manifest, const StageContext& context);
  ~WorkerStage();

  // If each position makes one element (AnalyzedGraph::numbered), returns a
  // stage that makes only the elements of `share`, and runs with this stage's
  // Scratch. Otherwise, and for a whole share, returns this stage. Cheap.
  // REQUIRES: this stage makes all elements.
  std::shared_ptr<const WorkerStage> ForShare(Share share) const;

  std::unique_ptr<Scratch> NewScratch() const;

  // Makes the elements of [begin, end), and stops early once `bytes_target`
  // bytes are made or scratch.piece_time is over. Then piece.end is the end of
  // a position, or a cursor inside a position that makes several elements.
  // Cancelled soon after a ReadStop of this thread stops.
  // A data error ends the piece: piece.error is set, and the piece has
  // everything before it. A returned error Status concerns this machine only
  // (I/O, a changed file): running the stage elsewhere may succeed.
  // Each call makes at least one element or completes one position.
  absl::StatusOr<Piece> Run(Cursor begin, Cursor end, size_t bytes_target,
                            Scratch& scratch) const;

  // Gives the generator a state to begin with, which leads to a cursor that
  // runs soon. No effect on the elements, nor without a generator.
  void Restore(const GeneratorState& state) const;
  // Returns a state that leads to `end`; null if there is none, as without a
  // generator.
  GeneratorStatePtr StateAt(Cursor end) const;

  // No piece is needed soon: ends what runs ahead of the last ones.
  void Rest() const;

  // Number of positions to announce ahead of those that run; 0 if it saves no
  // time.
  uint64_t PositionsAhead() const;
  // Begins to fetch what positions [begin, end) read, which run soon in this
  // order, and returns without waiting for it.
  void Announce(uint64_t begin, uint64_t end, Scratch& scratch) const;

  // Guesses a position's output in bytes; 0: unknown.
  size_t EstimatedBytes() const;
  // True if a position decodes, reads whole files or calls heavy functions.
  bool heavy() const;
  // Most bytes worth making ahead of the reader, per thread. Cheap elements
  // should still be in a cache when they are read.
  size_t AheadBytes() const;
  // Positions [k * n, (k + 1) * n) cost less if one call makes all of them; n =
  // 1 if it does not matter.
  uint64_t together() const;

  // ---- for a cache, which keeps the rows of this stage
  // Rows of the first requested positions, or of a part of a block.
  struct ComputedRows : BadRow {
    Chunk chunk;
    // Number of positions, or of rows of the block. The last ones may have no
    // row.
    uint64_t count = 0;
    bool dropped = false;  // chunk row r belongs to number origins[r]
    std::vector<uint32_t> origins;
    bool more = false;  // the block continues after these rows
  };
  // Makes the first elements of `positions`, in any order: as many as take
  // about `bytes_target` bytes, at least one. REQUIRES: positions are records.
  absl::StatusOr<ComputedRows> MakeAt(std::span<const uint64_t> positions,
                                      size_t bytes_target,
                                      Scratch& scratch) const;
  // Makes rows of a position that is a block: from row `row` on, about
  // `bytes_target` bytes.
  absl::StatusOr<ComputedRows> MakeInBlock(uint64_t position, uint64_t row,
                                           size_t bytes_target,
                                           Scratch& scratch) const;
  const std::shared_ptr<const ElementSpec>& output() const;
  // True if making a row takes microseconds or more.
  bool rows_heavy() const;
  // True if rows may be dropped.
  bool drops() const;
  // Names the record that a row is made of, for errors.
  std::string Describe(uint64_t position, uint64_t row) const;

 private:
  // A stage over the plan of a share, whose positions count from 0.
  struct Part {
    Share share;
    std::shared_ptr<const Plan> whole;  // names the elements
  };

  WorkerStage(std::shared_ptr<const StageProgram> program,
              std::optional<Part> part);

  absl::StatusOr<Piece> RunShare(Cursor begin, Cursor end, size_t bytes_target,
                                 StageScratch& scratch) const;
  // Runs, and makes what needs too much memory again, in smaller parts.
  absl::StatusOr<Piece> RunAgain(Cursor begin, Cursor end, size_t bytes_target,
                                 StageScratch& scratch) const;
  // Run without a retry: throws MemoryRefused.
  absl::StatusOr<Piece> RunOnce(Cursor begin, Cursor end, size_t bytes_target,
                                StageScratch& scratch) const;
  // Makes the rows that `draft` requests; the caller finishes it.
  absl::Status Fill(PieceDraft& draft, StageScratch& scratch) const;
  // Returns the piece for a caller that asked from `asked` on.
  Piece Conclude(Cursor asked, PieceDraft& draft, StageScratch& scratch) const;
  // Returns a piece that ends at `begin`, because that element is too large.
  Piece Refuse(Cursor asked, Cursor begin, Cursor end,
               const MemoryRefused& refused, StageScratch& scratch) const;
  // If an on_error skips the failed element, moves `draft` past it.
  std::optional<SkippedElement> SkipFailed(PieceDraft& draft) const;
  // Frees the memory of a run that an exception ended.
  void Renew(StageScratch& scratch) const;

  const std::shared_ptr<const StageProgram> program_;
  const std::optional<Part> part_;  // absent: makes all elements
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_WORKER_STAGE_H_
