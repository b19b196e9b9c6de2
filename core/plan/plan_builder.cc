#include "core/plan/plan_builder.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/base/check.h"
#include "core/base/status.h"
#include "core/dataset/step_kind.h"
#include "core/plan/positions.h"
#include "core/plan/weighted_choice.h"

namespace feedmill {
namespace {

constexpr int64_t kBlocksMixed = 8;  // default

}  // namespace

void PlanBuilder::Begin(size_t step) { step_ = step; }

bool PlanBuilder::in_plan() const {
  return plan_.graph_->steps[step_].placement == Placement::kPlan;
}

absl::Status PlanBuilder::Add(Plan::Level::Kind kind, uint64_t count,
                              uint64_t output) {
  plan_.levels_.push_back({.kind = kind,
                           .step = step_,
                           .input = plan_.size_,
                           .output = output,
                           .count = count});
  plan_.size_ = output;
  return absl::OkStatus();
}

absl::Status PlanBuilder::NeedsEnd() const {
  if (plan_.size_ != kInfinite) return absl::OkStatus();
  return InvalidArgument(
      "it needs all elements of its input, which is infinite");
}

absl::Status PlanBuilder::Repeat(std::optional<int64_t> count) {
  const uint64_t times = count ? Unsigned(*count) : kInfinite;
  FM_RETURN_IF_ERROR(NeedsEnd());
  const std::optional<uint64_t> output = Product(plan_.size_, times);
  if (!output) return InvalidArgument("more than 2^63 positions");
  // An empty plan has no positions, and so only one pass.
  const std::optional<uint64_t> combined =
      *output == 0 ? 1 : Product(passes_, times);
  if (!combined) return InvalidArgument("more than 2^63 passes");
  passes_ = *combined;
  return Add(Plan::Level::Kind::kRepeat, times, *output);
}

absl::Status PlanBuilder::ShuffleAll() {
  plan_.counted_from_ = step_ + 1;
  if (!in_plan()) return absl::OkStatus();
  FM_RETURN_IF_ERROR(NeedsEnd());
  return Add(Plan::Level::Kind::kShuffle, 0, plan_.size_);
}

absl::Status PlanBuilder::ShuffleWindow(int64_t window) {
  plan_.counted_from_ = step_ + 1;
  if (!in_plan()) return absl::OkStatus();
  return Add(Plan::Level::Kind::kWindow, Unsigned(window), plan_.size_);
}

absl::Status PlanBuilder::ShuffleBlocks(int64_t block,
                                        std::optional<int64_t> window) {
  plan_.counted_from_ = step_ + 1;
  if (!in_plan()) return absl::OkStatus();
  FM_RETURN_IF_ERROR(NeedsEnd());
  const uint64_t size = Unsigned(block);
  FM_RETURN_IF_ERROR(Add(Plan::Level::Kind::kBlocks, size, plan_.size_));
  return Add(Plan::Level::Kind::kMixed,
             Product(size, Unsigned(window.value_or(kBlocksMixed)))
                 .value_or(kPositionsMax),
             plan_.size_);
}

absl::Status PlanBuilder::Take(int64_t count) {
  if (!in_plan()) return absl::OkStatus();
  return Add(Plan::Level::Kind::kTake, 0,
             std::min(plan_.size_, Unsigned(count)));
}

absl::Status PlanBuilder::Skip(int64_t count) {
  if (!in_plan()) return absl::OkStatus();
  const uint64_t skipped = std::min(plan_.size_, Unsigned(count));
  return Add(Plan::Level::Kind::kSkip, skipped,
             plan_.size_ == kInfinite ? kInfinite : plan_.size_ - skipped);
}

absl::Status PlanBuilder::Shard(int64_t count, int64_t index) {
  if (!in_plan()) return absl::OkStatus();
  const uint64_t shards = Unsigned(count);
  const uint64_t first = Unsigned(index);
  // An infinite repeat of nothing has no positions, not even position 0.
  const uint64_t output = plan_.size_ == kInfinite ? kInfinite
                          : plan_.size_ <= first
                              ? 0
                              : (plan_.size_ - first - 1) / shards + 1;
  FM_RETURN_IF_ERROR(Add(Plan::Level::Kind::kShard, shards, output));
  plan_.levels_.back().first = first;
  return absl::OkStatus();
}

absl::Status PlanBuilder::Subset(const std::vector<int64_t>& indices) {
  if (!in_plan()) return absl::OkStatus();
  if (!indices.empty() && Unsigned(indices.back()) >= plan_.size_) {
    return InvalidArgument("there is no element {}; there are {}",
                           indices.back(), plan_.size_);
  }
  return Add(Plan::Level::Kind::kSubset, 0, indices.size());
}

absl::Status PlanBuilder::WeightedSample(const WeightedSampleStep& step) {
  if (!in_plan()) return absl::OkStatus();
  FM_RETURN_IF_ERROR(NeedsEnd());
  FM_ASSIGN_OR_RETURN(WeightedChoice choice,
                      WeightedChoice::Make(step, plan_.size_));
  FM_RETURN_IF_ERROR(Add(Plan::Level::Kind::kWeighted, 0, choice.count()));
  plan_.levels_.back().choice =
      std::make_shared<const WeightedChoice>(std::move(choice));
  return ShuffleAll();
}

absl::Status PlanBuilder::Batch(int64_t size, bool drop_remainder) {
  if (!in_plan()) return absl::OkStatus();
  FM_CHECK(size > 0 && plan_.batch_level_ == 0);
  const uint64_t records = Unsigned(size);
  const uint64_t output =
      plan_.size_ == kInfinite
          ? kInfinite
          : plan_.size_ / records +
                (!drop_remainder && plan_.size_ % records != 0);
  plan_.batch_level_ = plan_.levels_.size() + 1;
  return Add(Plan::Level::Kind::kBatch, records, output);
}

absl::Status Plan::AddSteps() {
  PlanBuilder builder(*this);
  counted_from_ = graph_->cached_steps;
  const auto passes = [&] {
    return builder.passes_ == kInfinite ? 0 : builder.passes_;
  };
  const std::vector<Step>& steps = graph_->graph.steps;
  for (size_t s = 0; s < steps.size(); ++s) {
    passes_before_.push_back(passes());
    const auto* batch = steps[s].As<BatchStep>();
    if (batch != nullptr && graph_->steps[s].placement == Placement::kPlan) {
      batch_size_ = Unsigned(batch->size);
    }
    if (s < graph_->cached_steps) continue;
    builder.Begin(s);
    const absl::Status added =
        steps[s].kind().AddToPlan(steps[s].options(), builder);
    if (!added.ok()) {
      return Annotate(added, fmt::format("steps[{}] {}", s, steps[s].name()));
    }
  }
  passes_before_.push_back(passes());
  return absl::OkStatus();
}

}  // namespace feedmill
