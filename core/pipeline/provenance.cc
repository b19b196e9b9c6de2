#include "core/pipeline/provenance.h"

#include <algorithm>
#include <utility>

#include "core/base/status.h"
#include "core/dataset/analysis.h"
#include "core/io/manifest.h"
#include "core/pipeline/client_stage.h"
#include "core/pipeline/endless_watch.h"
#include "core/pipeline/worker_stage.h"
#include "core/plan/plan.h"
#include "core/sources/manifest_resolution.h"
#include "core/sources/origins.h"
#include "core/sources/source_plan.h"

namespace feedmill {
namespace {

constexpr size_t kPartBytes = size_t{512} << 10;
constexpr uint64_t kPositionsAtOnce = 4'096;

class Tracer {
 public:
  Tracer(std::shared_ptr<const Plan> plan,
         std::shared_ptr<const Manifest> manifest, SourcePlan source,
         std::shared_ptr<const WorkerStage> stage,
         std::unique_ptr<ClientStage> client)
      : plan_(std::move(plan)),
        source_round_(source.round),
        origins_(plan_, std::move(manifest), std::move(source)),
        stage_(std::move(stage)),
        scratch_(stage_->NewScratch()),
        client_(std::move(client)) {}

  absl::StatusOr<TracedElement> At(uint64_t number) {
    if (plan_->graph().numbered) return AtPosition(number);
    EndlessWatch watch(*plan_, source_round_, 0);
    FM_RETURN_IF_ERROR(watch.Check());
    Cursor at;
    while (at.p < plan_->size() && !client_->done()) {
      const uint64_t left = plan_->size() - at.p;
      const Cursor end{at.p + std::min(left, kPositionsAtOnce), 0};
      FM_ASSIGN_OR_RETURN(const Piece piece,
                          stage_->Run(at, end, kPartBytes, *scratch_));
      const absl::Status pushed = client_->Push(piece);
      size_t outputs = 0;
      for (ClientStage::Output out; client_->Pop(out); ++outputs) {
        if (Take(number, out)) return std::move(found_);
      }
      FM_RETURN_IF_ERROR(pushed);
      const uint64_t needed = client_->needed_from();
      if (needed <= piece.end.p) FM_RETURN_IF_ERROR(piece.error);
      FM_RETURN_IF_ERROR(watch.Advance(piece.end, piece.chunk.rows, outputs));
      at = std::max(piece.end, Cursor{std::min(needed, plan_->size()), 0});
    }
    FM_RETURN_IF_ERROR(client_->Finish());
    for (ClientStage::Output out; client_->Pop(out);) {
      if (Take(number, out)) return std::move(found_);
    }
    return TooFar(number, next_);
  }

 private:
  static absl::Status TooFar(uint64_t number, uint64_t size) {
    return OutOfRange("there is no element {}: the sequence has {}", number,
                      size);
  }

  absl::StatusOr<TracedElement> AtPosition(uint64_t number) {
    if (number >= plan_->size()) return TooFar(number, plan_->size());
    FM_ASSIGN_OR_RETURN(Piece piece, stage_->Run({number, 0}, {number + 1, 0},
                                                 kPartBytes, *scratch_));
    FM_RETURN_IF_ERROR(piece.error);
    found_.element = std::move(piece.chunk);
    AddRecords({number, 0});
    return std::move(found_);
  }

  // Whether it is among these.
  bool Take(uint64_t number, const ClientStage::Output& out) {
    const uint64_t first = std::exchange(next_, next_ + out.chunk.rows);
    if (number >= next_) return false;
    const auto row = static_cast<size_t>(number - first);
    found_.element = out.chunk.Slice(row, row + 1);
    // A batch of the plan stands for all its records, however many of its rows
    // a later step looked at.
    const std::vector<Cursor>& origins = out.origins[row];
    for (const Cursor& origin : origins) AddRecords(origin);
    return true;
  }

  void AddRecords(Cursor cursor) {
    std::vector<RecordRef> refs;
    plan_->Records(cursor.p, cursor.p + 1, refs);
    for (const RecordRef& ref : refs) {
      origins_.Find(ref, cursor.i, found_.records);
    }
  }

  const std::shared_ptr<const Plan> plan_;
  const uint64_t source_round_;
  const OriginFinder origins_;
  const std::shared_ptr<const WorkerStage> stage_;
  const std::unique_ptr<WorkerStage::Scratch> scratch_;
  const std::unique_ptr<ClientStage> client_;
  uint64_t next_ = 0;  // elements seen
  TracedElement found_;
};

}  // namespace

absl::StatusOr<TracedElement> TraceElement(
    const Graph& graph, std::shared_ptr<const FunctionRegistry> registry,
    uint64_t seed, uint64_t iteration, uint64_t number) {
  FM_ASSIGN_OR_RETURN(auto analyzed, Analyze(graph, *registry));
  FM_ASSIGN_OR_RETURN(Manifest resolved, ResolveManifest(*analyzed));
  const auto manifest = std::make_shared<const Manifest>(std::move(resolved));
  FM_ASSIGN_OR_RETURN(SourcePlan source,
                      PlanSource(*analyzed, *manifest, seed, iteration));
  FM_ASSIGN_OR_RETURN(auto plan,
                      Plan::Make(analyzed, source.size, seed, iteration));
  FM_ASSIGN_OR_RETURN(auto stage, WorkerStage::Make(plan, manifest, registry));
  FM_ASSIGN_OR_RETURN(auto client,
                      ClientStage::Make(plan, registry, /*trace=*/true));
  return Tracer(std::move(plan), manifest, std::move(source), std::move(stage),
                std::move(client))
      .At(number);
}

}  // namespace feedmill
