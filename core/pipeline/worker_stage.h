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

// The worker's part of a pipeline, compiled: positions in, elements out. A
// pure function of the position and of the files, whatever thread, cut or
// machine runs it.
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
    // Where a piece's large columns go (null: to malloc); nothing else does.
    std::shared_ptr<BlockSource> blocks;
  };

  static absl::StatusOr<std::shared_ptr<const WorkerStage>> Make(
      std::shared_ptr<const Plan> plan,
      std::shared_ptr<const Manifest> manifest,
      std::shared_ptr<const FunctionRegistry> registry);
  virtual ~WorkerStage() = default;

  // A stage that makes only the elements of `share`, where each position makes
  // one (AnalyzedGraph::numbered); else, and for a whole share, itself. Runs
  // with this stage's Scratch. Cheap. REQUIRES: this stage makes all.
  virtual std::shared_ptr<const WorkerStage> ForShare(Share share) const = 0;

  virtual std::unique_ptr<Scratch> NewScratch() const = 0;

  // The elements of [begin, end), stopping early once `bytes_target` bytes are
  // made (piece.end says where: at a position's end, or inside one that makes
  // several elements). A data error ends
  // the piece with piece.error set and everything before it delivered.
  // A returned Status is for this machine only (I/O, a changed file): running
  // it elsewhere may succeed. Always gets at least one element or one
  // position further.
  virtual absl::StatusOr<Piece> Run(Cursor begin, Cursor end,
                                    size_t bytes_target,
                                    Scratch& scratch) const = 0;

  // A first guess of a position's output in bytes (0: not known) and whether
  // a position is heavy (decodes, reads files, calls heavy functions).
  virtual size_t EstimatedBytes() const = 0;
  virtual bool heavy() const = 0;
  // How much of it is worth having ahead of who reads, a thread: what is soon
  // made had better still be in a cache when it is read.
  virtual size_t AheadBytes() const = 0;
  // Positions [k * n, (k + 1) * n) take less if one call makes all of them; 1
  // if it does not matter.
  virtual uint64_t together() const { return 1; }
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_WORKER_STAGE_H_
