#include "core/pipeline/input_stream.h"

#include <algorithm>
#include <utility>

#include "core/base/status.h"
#include "core/pipeline/compiled_stage.h"
#include "core/sources/source_plan.h"

namespace feedmill {
namespace {

// What is made at once: little is made in vain where an order takes a few
// elements of each input.
constexpr size_t kPieceBytes = size_t{256} << 10;
constexpr uint64_t kPositionsTogether = 4'096;

}  // namespace

InputStream::InputStream(std::shared_ptr<const Plan> plan,
                         std::shared_ptr<const WorkerStage> stage,
                         std::unique_ptr<ClientStage> client)
    : plan_(std::move(plan)),
      stage_(std::move(stage)),
      scratch_(stage_->NewScratch()),
      client_(std::move(client)),
      watch_(*plan_) {
  const AnalyzedGraph& graph = plan_->graph();
  const ElementSpec& made = graph.InputOf(graph.steps.size());
  for (const ComponentSpec& c : graph.output->components) {
    columns_.push_back(static_cast<size_t>(made.Find(c.name)));
  }
  error_ = watch_.Check();
  ended_ = !error_.ok();
}

absl::StatusOr<std::unique_ptr<InputStream>> InputStream::Make(
    const std::shared_ptr<const AnalyzedGraph>& graph,
    std::shared_ptr<const Manifest> manifest, const StageContext& context,
    uint64_t seed, uint64_t iteration) {
  FM_ASSIGN_OR_RETURN(const SourcePlan source,
                      PlanSource(*graph, *manifest, seed, iteration));
  FM_ASSIGN_OR_RETURN(auto plan,
                      Plan::Make(graph, source.size, seed, iteration));
  FM_ASSIGN_OR_RETURN(
      auto stage, CompiledStage::Compile(plan, std::move(manifest), context));
  std::unique_ptr<ClientStage> client;
  if (graph->client_begin < graph->steps.size()) {
    FM_ASSIGN_OR_RETURN(client, ClientStage::Make(plan, context.registry));
  }
  return std::unique_ptr<InputStream>(
      new InputStream(std::move(plan), std::move(stage), std::move(client)));
}

absl::StatusOr<bool> InputStream::Look() {
  while (row_ == chunk_.rows) {
    if (!ready_.empty()) {
      chunk_ = std::move(ready_.front());
      ready_.pop_front();
      row_ = 0;
    } else if (ended_) {
      return false;
    } else {
      FM_RETURN_IF_ERROR(MakeMore());
    }
  }
  return true;
}

void InputStream::Ready(Chunk made) {
  std::vector<Column> columns;
  for (const size_t c : columns_) columns.push_back(made.columns[c]);
  ready_.push_back({plan_->graph().output, made.rows, std::move(columns)});
}

size_t InputStream::PopOutputs() {
  size_t rows = 0;
  for (ClientStage::Output output; client_->Pop(output);) {
    rows += output.chunk.rows;
    Ready(std::move(output.chunk));
  }
  return rows;
}

absl::Status InputStream::MakeMore() {
  const uint64_t size = plan_->size();
  if (at_.p >= size || (client_ != nullptr && client_->done())) {
    ended_ = true;
    if (client_ == nullptr) return absl::OkStatus();
    error_ = client_->Finish();
    PopOutputs();
    return absl::OkStatus();
  }
  const Cursor end{at_.p + std::min(size - at_.p, kPositionsTogether), 0};
  FM_ASSIGN_OR_RETURN(Piece piece,
                      stage_->Run(at_, end, kPieceBytes, *scratch_));
  const size_t rows = piece.chunk.rows;
  size_t outputs = rows;
  uint64_t needed = 0;
  if (client_ == nullptr) {
    Ready(std::move(piece.chunk));
  } else {
    error_ = client_->Push(piece);
    outputs = PopOutputs();
    needed = client_->needed_from();
  }
  // An error among what is not needed is none.
  if (error_.ok() && needed <= piece.end.p) error_ = piece.error;
  if (error_.ok()) error_ = watch_.Advance(piece.end, rows, outputs);
  ended_ = !error_.ok();
  at_ = std::max(piece.end, Cursor{std::min(needed, size), 0});
  return absl::OkStatus();
}

}  // namespace feedmill
