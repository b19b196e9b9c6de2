#include "tests/conformance/moved_inputs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "core/base/byte_budget.h"
#include "core/base/status.h"
#include "core/dataset/analysis.h"
#include "core/dataset/graph_text.h"
#include "core/definition/pipeline_text.h"
#include "core/pipeline/input_service.h"
#include "core/pipeline/worker_stage.h"
#include "core/sources/manifest_resolution.h"
#include "core/sources/source_plan.h"

namespace feedmill::testing {
namespace {

// Pieces that the calling thread makes.
class StagePieces final : public PieceSource {
 public:
  struct Options {
    Cursor begin{};
    size_t piece_bytes = 0;
    uint64_t fails_after = UINT64_MAX;  // pieces
    bool sent = false;                  // to another process
  };
  StagePieces(std::shared_ptr<const WorkerStage> stage, uint64_t size,
              Options options)
      : stage_(std::move(stage)),
        size_(size),
        options_(options),
        at_(options.begin),
        scratch_(stage_->NewScratch()) {
    scratch_->beside = true;
  }

  absl::StatusOr<TakeResult> Take(absl::Time, Piece& piece) override {
    if (++taken_ % 5 == 0 && options_.sent) return TakeResult::kTimedOut;
    if (taken_ > options_.fails_after) return Unavailable("a planned failure");
    at_ = std::max(at_, Cursor{std::min(needed_, size_), 0});
    if (at_.p >= size_ || ended_) return TakeResult::kEnd;
    const ByteBudget budget(kElementBytesMax);
    FM_ASSIGN_OR_RETURN(piece, stage_->Run(at_, {std::min(at_.p + 7, size_), 0},
                                           options_.piece_bytes, *scratch_));
    at_ = piece.end;
    if (!options_.sent) return TakeResult::kPiece;
    if (piece.skipped) piece.skipped->outer = false;
    ended_ = !piece.error.ok();
    const bool empty =
        piece.chunk.rows == 0 && piece.error.ok() && !piece.skipped;
    if (!empty) return TakeResult::kPiece;
    piece.chunk = Chunk();
    return TakeResult::kPassed;
  }
  void SkipTo(uint64_t position) override {
    needed_ = std::max(needed_, position);
  }

 private:
  const std::shared_ptr<const WorkerStage> stage_;
  const uint64_t size_;
  const Options options_;
  Cursor at_;
  const std::unique_ptr<WorkerStage::Scratch> scratch_;
  uint64_t needed_ = 0;
  uint64_t taken_ = 0;
  bool ended_ = false;
};

struct Opened {
  std::shared_ptr<const Plan> plan;
  std::shared_ptr<const WorkerStage> stage;
  uint64_t source_round = 0;
  std::string manifest_hash;
};

absl::StatusOr<Opened> Open(
    const Graph& graph, const std::shared_ptr<const FunctionRegistry>& registry,
    uint64_t seed, uint64_t iteration, std::shared_ptr<InputService> service) {
  // The text that another process would get.
  FM_ASSIGN_OR_RETURN(const Graph read, ParseGraphJson(CanonicalText(graph)));
  EXPECT_EQ(CanonicalText(read), CanonicalText(graph));
  FM_ASSIGN_OR_RETURN(auto analyzed, Analyze(read, *registry));
  FM_ASSIGN_OR_RETURN(Manifest resolved, ResolveManifest(*analyzed));
  const auto manifest = std::make_shared<const Manifest>(std::move(resolved));
  Opened opened;
  FM_ASSIGN_OR_RETURN(const SourcePlan source,
                      PlanSource(*analyzed, *manifest, seed, iteration));
  opened.source_round = source.round;
  if (analyzed->source.needs_files) opened.manifest_hash = manifest->Hash();
  FM_ASSIGN_OR_RETURN(opened.plan,
                      Plan::Make(analyzed, source.size, seed, iteration));
  FM_ASSIGN_OR_RETURN(
      opened.stage, WorkerStage::Make(opened.plan, manifest, registry, nullptr,
                                      std::move(service)));
  return opened;
}

class Service final : public InputService,
                      public std::enable_shared_from_this<Service> {
 public:
  Service(Graph graph, std::shared_ptr<const FunctionRegistry> registry,
          size_t piece_bytes)
      : graph_(std::move(graph)),
        registry_(std::move(registry)),
        piece_bytes_(piece_bytes) {}

  std::string NewReader() override { return "reader"; }
  bool Helps(std::chrono::nanoseconds,
             std::chrono::nanoseconds) const override {
    return true;
  }
  std::unique_ptr<PieceSource> Read(const Request& request) override {
    ++reads_;
    if (reads_ % 7 == 0) return nullptr;
    Graph part = graph_;
    part.part = request.part;
    auto opened = Open(part, registry_, request.seed, request.iteration,
                       shared_from_this());
    EXPECT_TRUE(opened.ok()) << opened.status();
    if (!opened.ok()) return nullptr;
    EXPECT_EQ(opened->manifest_hash, request.manifest_hash);
    return std::make_unique<StagePieces>(
        opened->stage, opened->plan->size(),
        StagePieces::Options{
            .begin = request.begin,
            .piece_bytes = piece_bytes_,
            .fails_after = reads_ % 4 == 0 ? reads_ % 3 : UINT64_MAX,
            .sent = true});
  }

 private:
  const Graph graph_;
  const std::shared_ptr<const FunctionRegistry> registry_;
  const size_t piece_bytes_;
  uint64_t reads_ = 0;
};

}  // namespace

absl::StatusOr<MovedInputs> OpenWithMovedInputs(
    const Graph& graph, const std::shared_ptr<const FunctionRegistry>& registry,
    size_t piece_bytes) {
  FM_ASSIGN_OR_RETURN(
      const Opened opened,
      Open(graph, registry, graph.options.seed.value_or(0), 0,
           std::make_shared<Service>(graph, registry, piece_bytes)));
  SequenceReader::Options options;
  options.source_round = opened.source_round;
  options.elements = opened.plan->graph().elements;
  options.rules.numbered = opened.plan->graph().numbered;
  MovedInputs made;
  FM_ASSIGN_OR_RETURN(made.sequence, SequenceReader::Make(opened.plan, registry,
                                                          std::move(options)));
  made.source = std::make_unique<StagePieces>(
      opened.stage, opened.plan->size(),
      StagePieces::Options{.piece_bytes = piece_bytes});
  made.source->SkipTo(made.sequence->needed());
  return made;
}

}  // namespace feedmill::testing
