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
                         uint64_t source_round,
                         std::shared_ptr<const CompiledStage> stage,
                         std::unique_ptr<ClientStage> client)
    : plan_(std::move(plan)),
      stage_(std::move(stage)),
      scratch_(stage_->NewScratch()),
      client_(std::move(client)),
      watch_(*plan_, source_round, 0) {
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
  return std::unique_ptr<InputStream>(new InputStream(
      std::move(plan), source.round, std::move(stage), std::move(client)));
}

absl::StatusOr<InputStream::Next> InputStream::Look() {
  while (row_ == chunk_.rows) {
    if (skipped_) return outer_ ? Next::kBad : Next::kLeftOut;
    if (!ready_.empty()) {
      chunk_ = std::move(ready_.front().chunk);
      skipped_ = std::move(ready_.front().skipped);
      outer_ = ready_.front().outer;
      ready_.pop_front();
      row_ = 0;
    } else if (ended_) {
      return Next::kEnd;
    } else {
      FM_RETURN_IF_ERROR(MakeMore());
    }
  }
  return Next::kElement;
}

SkippedElement InputStream::TakeSkipped() {
  return *std::exchange(skipped_, std::nullopt);
}

void InputStream::Ready(Chunk made) {
  std::vector<Column> columns;
  for (const size_t c : columns_) columns.push_back(made.columns[c]);
  ready_.push_back(
      {{plan_->graph().output, made.rows, std::move(columns)}, {}, false});
}

// Comes behind what was made before. Where steps see the sequence, it has no
// place among what they make: it was left out before them.
void InputStream::SetAside(SkippedElement skipped, bool outer) {
  if (ready_.empty() || ready_.back().skipped) {
    ready_.push_back({{plan_->graph().output, 0, {}}, {}, false});
  }
  ready_.back().skipped = std::move(skipped);
  ready_.back().outer = outer && client_ == nullptr;
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
  bool outer = false;
  FM_ASSIGN_OR_RETURN(Piece piece,
                      stage_->Run(at_, end, kPieceBytes, *scratch_, outer));
  // The client's steps have seen no more than what stands before it.
  const Cursor made = piece.end;
  if (piece.skipped) piece.end = piece.skipped->cursor;
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
  if (error_.ok() && piece.skipped && needed <= piece.end.p) {
    SetAside(*std::move(piece.skipped), outer);
  }
  if (error_.ok()) error_ = watch_.Advance(made, rows, outputs);
  ended_ = !error_.ok();
  at_ = std::max(made, Cursor{std::min(needed, size), 0});
  return absl::OkStatus();
}

}  // namespace feedmill
