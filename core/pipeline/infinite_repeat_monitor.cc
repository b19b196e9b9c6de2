#include "core/pipeline/infinite_repeat_monitor.h"

#include <algorithm>
#include <iterator>

#include "core/base/status.h"
#include "core/dataset/step_kind.h"

namespace feedmill {
namespace {

// A reader that shares a job gets only some elements. This factor of passes
// without an element proves that it never gets one.
constexpr uint64_t kSharedPatience = 16;
// Passes with random steps may be empty by chance, short ones often. So at
// least this many positions count as one pass.
constexpr uint64_t kDrawnPatience = uint64_t{1} << 16;  // positions
// Same for inputs that are streams: a position is a whole pass.
constexpr uint64_t kDrawnPasses = 256;
// Rounds of infinite inputs combine elements differently, so an element that
// occurs once in a round on average may miss several rounds. The larger of
// these two numbers counts as one pass.
constexpr uint64_t kDrawnRounds = 16;
constexpr uint64_t kDrawnRoundsPatience = uint64_t{1} << 18;  // positions

uint64_t SaturatingMultiply(uint64_t a, uint64_t b) {
  uint64_t out = 0;
  return __builtin_mul_overflow(a, b, &out) ? kInfinite : out;
}

uint64_t SaturatingAdd(uint64_t a, uint64_t b) {
  uint64_t out = 0;
  return __builtin_add_overflow(a, b, &out) ? kInfinite : out;
}

// True if the workers' steps batch or select elements of the source.
bool TakesApart(const AnalyzedGraph& graph) {
  for (size_t s = graph.cached_steps; s < graph.client_begin; ++s) {
    const Step& step = graph.graph.steps[s];
    if (step.Is<BatchStep>() || step.Is<ShardStep>()) return true;
  }
  return false;
}

}  // namespace

InfiniteRepeatMonitor::InfiniteRepeatMonitor(const Plan& plan,
                                             uint64_t source_round,
                                             uint64_t from)
    : infinite_(plan.source_size() == kInfinite && plan.size() == kInfinite &&
                source_round > 0 && !plan.NumbersOn()),
      period_(source_round),
      last_row_(from),
      last_output_(from) {
  const AnalyzedGraph& graph = plan.graph();
  uint64_t batches = 1;
  bool empty = false;  // of each pass
  for (size_t s = graph.cached_steps; s < graph.graph.steps.size(); ++s) {
    const Step& step = graph.graph.steps[s];
    const auto* take = step.As<TakeStep>();
    empty = empty || (take != nullptr && take->count == 0);
    if (const auto* repeat = step.As<RepeatStep>()) {
      if (repeat->count.has_value()) continue;
      infinite_ = repeats_ = true;
      period_ =
          s == graph.cached_steps ? plan.source_size() : plan.PassLength(s - 1);
      if (empty) period_ = 0;
    }
    if (!infinite_ || s < graph.client_begin) continue;
    // Later steps may hold back this many elements; at worst, a pass brings one
    // of them.
    const StepTraits traits = TraitsOf(step);
    passes_max_ = SaturatingAdd(
        passes_max_, SaturatingMultiply(batches, traits.first_after));
    batches = SaturatingMultiply(batches, traits.next_after);
  }
  passes_max_ = SaturatingAdd(passes_max_, batches);
  // Rounds have the same elements, but in different orders.
  const bool apart = !repeats_ && TakesApart(graph);
  const bool stays = !repeats_ && graph.client_begin < graph.steps.size();
  uint64_t drawn =
      std::max(period_, graph.source.streamed ? kDrawnPasses : kDrawnPatience);
  if (!repeats_) {
    drawn = std::max(SaturatingMultiply(kDrawnRounds, period_),
                     kDrawnRoundsPatience);
  }
  patience_ = graph.random || apart ? drawn : period_;
  output_patience_ = stays ? drawn : patience_;
}

absl::Status InfiniteRepeatMonitor::Empty() const {
  if (!repeats_) {
    return FailedPrecondition(
        "the infinite source yields no element: one pass over its inputs made "
        "none. Check the inputs, filter, take and skip");
  }
  return FailedPrecondition(
      "the infinite repeat yields no element: a whole pass made none. Check "
      "the source, filter, take and skip");
}

absl::Status InfiniteRepeatMonitor::Check() const {
  return infinite_ && period_ == 0 ? Empty() : absl::OkStatus();
}

absl::Status InfiniteRepeatMonitor::Advance(Cursor end, size_t rows,
                                            size_t outputs) {
  if (!infinite_) return absl::OkStatus();
  if (rows > 0) last_row_ = end.p;
  if (outputs > 0) last_output_ = end.p;
  // One pass is added because the last element may have come early in its pass.
  const bool no_rows = end.p - last_row_ >= SaturatingMultiply(2, patience_);
  const uint64_t passes = SaturatingAdd(passes_max_, 1);
  const bool no_outputs =
      end.p - last_output_ >= SaturatingMultiply(passes, output_patience_);
  return no_rows || no_outputs ? Empty() : absl::OkStatus();
}

absl::Status InfiniteRepeatMonitor::AdvanceShared(uint64_t begin, uint64_t end,
                                                  size_t rows, size_t outputs) {
  if (!infinite_ || end <= begin) return absl::OkStatus();
  without_row_ = rows > 0 ? 0 : SaturatingAdd(without_row_, end - begin);
  without_output_ =
      outputs > 0 ? 0 : SaturatingAdd(without_output_, end - begin);
  if (rows > 0) {
    covered_.clear();
  } else if (end - begin >= period_) {
    Cover(0, period_);
  } else {
    const uint64_t first = begin % period_;
    const uint64_t count = end - begin;
    Cover(first, std::min(period_, first + count));
    if (first + count > period_) Cover(0, first + count - period_);
  }
  // True if every place of the pass was seen without an element.
  const bool whole = covered_.size() == 1 && covered_.begin()->first == 0 &&
                     covered_.begin()->second == period_;
  const bool no_rows =
      whole &&
      without_row_ >=
          SaturatingMultiply(repeats_ ? 2 : 2 * kSharedPatience, patience_);
  const uint64_t passes =
      SaturatingMultiply(kSharedPatience, SaturatingAdd(passes_max_, 1));
  const bool no_outputs =
      without_output_ >= SaturatingMultiply(passes, output_patience_);
  return no_rows || no_outputs ? Empty() : absl::OkStatus();
}

void InfiniteRepeatMonitor::Cover(uint64_t begin, uint64_t end) {
  auto it = covered_.upper_bound(begin);
  if (it != covered_.begin() && std::prev(it)->second >= begin) --it;
  while (it != covered_.end() && it->first <= end) {
    begin = std::min(begin, it->first);
    end = std::max(end, it->second);
    it = covered_.erase(it);
  }
  covered_.emplace(begin, end);
}

}  // namespace feedmill
