#include "core/pipeline/endless_watch.h"

#include <limits>

#include "core/base/status.h"

namespace feedmill {
namespace {

uint64_t SaturatingMultiply(uint64_t a, uint64_t b) {
  uint64_t out = 0;
  return __builtin_mul_overflow(a, b, &out) ? kEndless : out;
}

uint64_t SaturatingAdd(uint64_t a, uint64_t b) {
  uint64_t out = 0;
  return __builtin_add_overflow(a, b, &out) ? kEndless : out;
}

}  // namespace

EndlessWatch::EndlessWatch(const Plan& plan) {
  const AnalyzedGraph& graph = plan.graph();
  uint64_t batches = 1;
  for (size_t s = 0; s < graph.graph.steps.size(); ++s) {
    const Step& step = graph.graph.steps[s];
    if (const auto* repeat = std::get_if<RepeatStep>(&step)) {
      if (repeat->count.has_value()) continue;
      endless_ = true;
      period_ = s == 0 ? plan.source_size() : plan.PassLength(s - 1);
    }
    if (!endless_ || s < graph.client_begin) continue;
    // Steps after it may swallow so many elements, one a pass at worst.
    if (const auto* skip = std::get_if<SkipStep>(&step)) {
      passes_max_ = SaturatingAdd(
          passes_max_,
          SaturatingMultiply(batches, static_cast<uint64_t>(skip->count)));
    } else if (const auto* batch = std::get_if<BatchStep>(&step)) {
      batches = SaturatingMultiply(batches, static_cast<uint64_t>(batch->size));
    }
  }
  passes_max_ = SaturatingAdd(passes_max_, batches);
}

absl::Status EndlessWatch::Empty() const {
  return FailedPrecondition(
      "repeat without a count: a whole pass makes no element, so that there "
      "is nothing to repeat; check the source, filter, take and skip");
}

absl::Status EndlessWatch::Check() const {
  return endless_ && period_ == 0 ? Empty() : absl::OkStatus();
}

absl::Status EndlessWatch::Advance(Cursor end, size_t rows, size_t outputs) {
  if (!endless_) return absl::OkStatus();
  if (rows > 0) last_row_ = end.p;
  if (outputs > 0) last_output_ = end.p;
  // One pass more than one: what came may have come early in its pass.
  const bool no_rows = end.p - last_row_ >= SaturatingMultiply(2, period_);
  const uint64_t passes = SaturatingAdd(passes_max_, 1);
  const bool no_outputs =
      end.p - last_output_ >= SaturatingMultiply(passes, period_);
  return no_rows || no_outputs ? Empty() : absl::OkStatus();
}

}  // namespace feedmill
