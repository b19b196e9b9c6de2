#include "core/pipeline/provenance.h"

#include <utility>

#include "core/base/status.h"
#include "core/dataset/analysis.h"
#include "core/pipeline/worker_stage.h"
#include "core/plan/plan.h"
#include "core/sources/manifest.h"
#include "core/sources/source_plan.h"

namespace feedmill {
namespace {

constexpr size_t kPieceBytes = size_t{512} << 10;

RecordOrigin OriginOf(const AnalyzedGraph& graph, const Manifest& manifest,
                      const RecordRef& ref) {
  RecordOrigin origin;
  origin.epoch = ref.pass;
  origin.record = ref.index;
  if (!graph.inputs.empty()) return origin;  // of what the inputs make
  for (const ManifestFile& file : manifest.files) {
    if (origin.record < file.records) {
      origin.file = file.path;
      break;
    }
    origin.record -= file.records;
  }
  return origin;
}

}  // namespace

absl::StatusOr<TracedElement> TraceElement(
    const Graph& graph, std::shared_ptr<const FunctionRegistry> registry,
    uint64_t seed, uint64_t iteration, uint64_t number) {
  FM_ASSIGN_OR_RETURN(auto analyzed, Analyze(graph, *registry));
  if (!analyzed->numbered) {
    return FailedPrecondition(
        "which records made an element is known without reading all before it "
        "only where every position makes one element: no filter, a counted "
        "source, no step of the client stage (read --explain shows them)");
  }
  FM_ASSIGN_OR_RETURN(Manifest resolved, ResolveManifest(*analyzed));
  const auto manifest = std::make_shared<const Manifest>(std::move(resolved));
  FM_ASSIGN_OR_RETURN(const uint64_t source_size,
                      SourceSize(*analyzed, *manifest));
  FM_ASSIGN_OR_RETURN(auto plan,
                      Plan::Make(analyzed, source_size, seed, iteration));
  FM_ASSIGN_OR_RETURN(auto stage, WorkerStage::Make(plan, manifest, registry));
  if (number >= plan->size()) {
    return OutOfRange("there is no element {}: the sequence has {}", number,
                      plan->size());
  }
  const std::unique_ptr<WorkerStage::Scratch> scratch = stage->NewScratch();
  FM_ASSIGN_OR_RETURN(Piece piece, stage->Run({number, 0}, {number + 1, 0},
                                              kPieceBytes, *scratch));
  FM_RETURN_IF_ERROR(piece.error);
  TracedElement traced;
  traced.element = std::move(piece.chunk);
  std::vector<RecordRef> refs;
  plan->Records(number, number + 1, refs);
  for (const RecordRef& ref : refs) {
    traced.records.push_back(OriginOf(*analyzed, *manifest, ref));
  }
  return traced;
}

}  // namespace feedmill
