#ifndef FEEDMILL_CORE_PIPELINE_WORKER_STAGE_H_
#define FEEDMILL_CORE_PIPELINE_WORKER_STAGE_H_

#include <memory>

#include "core/chunk/buffer_builder.h"
#include "core/chunk/cursor.h"
#include "core/chunk/piece.h"
#include "core/dataset/analysis.h"
#include "core/dataset/function_registry.h"
#include "core/io/manifest.h"
#include "core/plan/plan.h"
#include "feedmill/chunk.h"

namespace feedmill {

// The worker's part of a pipeline, compiled: it maps positions to elements. It
// is a pure function of the position and of the files, on any thread and
// machine and with any division into pieces.
//
// Thread-safety: Run may be called by many threads at once, each with its own
// Scratch.
class WorkerStage {
 public:
  // Memory that one thread reuses between calls: decoders, read buffers,
  // blocks in cache.
  class Scratch {
   public:
    virtual ~Scratch() = default;
    // Source of the memory of a piece's large columns (null: malloc), and of
    // nothing else.
    std::shared_ptr<BlockSource> blocks;
  };

  static absl::StatusOr<std::shared_ptr<const WorkerStage>> Make(
      std::shared_ptr<const Plan> plan,
      std::shared_ptr<const Manifest> manifest,
      std::shared_ptr<const FunctionRegistry> registry);
  virtual ~WorkerStage() = default;

  // If each position makes one element (AnalyzedGraph::numbered), returns a
  // stage that makes only the elements of `share`, and runs with this stage's
  // Scratch. Otherwise, and for a whole share, returns this stage. Cheap.
  // REQUIRES: this stage makes all elements.
  virtual std::shared_ptr<const WorkerStage> ForShare(Share share) const = 0;

  virtual std::unique_ptr<Scratch> NewScratch() const = 0;

  // Makes the elements of [begin, end), and stops early once `bytes_target`
  // bytes are made. Then piece.end is the end of a position, or a cursor inside
  // a position that makes several elements.
  // A data error ends the piece: piece.error is set, and the piece has
  // everything before it. A returned error Status concerns this machine only
  // (I/O, a changed file): running the stage elsewhere may succeed.
  // Each call makes at least one element or completes one position.
  virtual absl::StatusOr<Piece> Run(Cursor begin, Cursor end,
                                    size_t bytes_target,
                                    Scratch& scratch) const = 0;

  // EstimatedBytes guesses a position's output in bytes (0: unknown). heavy is
  // true if a position decodes, reads whole files or calls heavy functions.
  virtual size_t EstimatedBytes() const = 0;
  virtual bool heavy() const = 0;
  // Most bytes worth making ahead of the reader, per thread. Cheap elements
  // should still be in a cache when they are read.
  virtual size_t AheadBytes() const = 0;
  // Positions [k * n, (k + 1) * n) cost less if one call makes all of them; n =
  // 1 if it does not matter.
  virtual uint64_t together() const { return 1; }
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_WORKER_STAGE_H_
