#include "core/pipeline/provenance.h"

#include <algorithm>
#include <utility>

#include "core/base/status.h"
#include "core/dataset/analysis.h"
#include "core/io/manifest.h"
#include "core/io/read_stop.h"
#include "core/pipeline/sequence_reader.h"
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
         std::unique_ptr<SequenceReader> sequence)
      : plan_(std::move(plan)),
        origins_(plan_, std::move(manifest), std::move(source)),
        stage_(std::move(stage)),
        scratch_(stage_->NewScratch()),
        sequence_(std::move(sequence)) {}

  absl::StatusOr<TracedElement> At(uint64_t number) {
    if (plan_->graph().numbered) return AtPosition(number);
    while (true) {
      while (ClientStage::Output* const output = sequence_->Next()) {
        if (Take(number, *output)) return std::move(found_);
      }
      if (const auto& end = sequence_->end()) {
        return end->ok() ? TooFar(number, next_) : *end;
      }
      FM_RETURN_IF_ERROR(Feed());
    }
  }

 private:
  static absl::Status TooFar(uint64_t number, uint64_t size) {
    return OutOfRange("there is no element {}: the sequence has {}", number,
                      size);
  }

  // Gives the sequence its next piece or its end.
  absl::Status Feed() {
    FM_RETURN_IF_ERROR(ReadStop::Check("the records of an element"));
    at_ = std::max(at_, Cursor{sequence_->needed(), 0});
    if (at_.p >= plan_->size() || sequence_->done()) {
      sequence_->Finish();
      return absl::OkStatus();
    }
    const Cursor end{at_.p + std::min(plan_->size() - at_.p, kPositionsAtOnce),
                     0};
    FM_ASSIGN_OR_RETURN(Piece piece,
                        stage_->Run(at_, end, kPartBytes, *scratch_));
    at_ = piece.end;
    sequence_->Push(std::move(piece));
    return absl::OkStatus();
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

  // Takes element `number` if it is one of these rows; returns true then.
  bool Take(uint64_t number, const ClientStage::Output& out) {
    const uint64_t first = std::exchange(next_, next_ + out.chunk.rows);
    if (number >= next_) return false;
    const auto row = static_cast<size_t>(number - first);
    found_.element = out.chunk.Slice(row, row + 1);
    // A batch that the plan makes counts with all its records, even if a later
    // step used only some of its rows.
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
  const OriginFinder origins_;
  const std::shared_ptr<const WorkerStage> stage_;
  const std::unique_ptr<WorkerStage::Scratch> scratch_;
  const std::unique_ptr<SequenceReader> sequence_;
  Cursor at_;          // positions before it are made
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
  SequenceReader::Options options;
  options.source_round = source.round;
  options.capped = false;
  options.keeps_place = false;
  options.trace = true;
  FM_ASSIGN_OR_RETURN(auto sequence,
                      SequenceReader::Make(plan, registry, std::move(options)));
  return Tracer(std::move(plan), manifest, std::move(source), std::move(stage),
                std::move(sequence))
      .At(number);
}

}  // namespace feedmill
