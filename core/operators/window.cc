#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/operators/step_kind_of.h"
#include "core/operators/type_checks.h"
#include "core/pipeline/batch_stacker.h"
#include "core/pipeline/combining_step.h"

namespace feedmill {
namespace {

class WindowRows final : public CombiningStep {
 public:
  WindowRows(const Plan& plan, size_t s, const WindowStep& step)
      : CombiningStep(plan, s),
        size_(static_cast<size_t>(step.size)),
        shift_(static_cast<size_t>(step.shift == 0 ? step.size : step.shift)),
        stride_(static_cast<size_t>(step.stride)),
        span_((size_ - 1) * stride_ + 1),
        drop_remainder_(step.drop_remainder),
        stacker_(BatchLayout::kEqual, {}, plan.graph().InputOf(s)) {
    rows_.groups.resize(1);
  }

  void Save(StageState::Step& state) const override {
    CombiningStep::Save(state);
    state.left = skip_;
  }
  bool Restore(const StageState::Step& state) override {
    skip_ = static_cast<size_t>(state.left);
    return CombiningStep::Restore(state) && rows_.groups.size() == 1 &&
           rows_.groups[0].size() < span_ && skip_ < shift_;
  }

 protected:
  absl::Status Take(RowRef row) override {
    if (skip_ > 0) {
      --skip_;
      return absl::OkStatus();
    }
    rows_.groups[0].push_back(row);
    if (rows_.groups[0].size() == span_) Next();
    return absl::OkStatus();
  }
  void QueueIncomplete() override {
    while (!drop_remainder_ && !rows_.groups[0].empty()) Next();
  }
  void Begin() override { skip_ = 0; }
  absl::Status Combine(const Chunk& rows, std::span<const size_t> groups,
                       std::shared_ptr<const ElementSpec> spec, Chunk& out,
                       size_t& count) const override {
    return stacker_.Stack(rows, groups, std::move(spec), out, count);
  }
  uint64_t CountsAs(size_t) const override { return size_; }

 private:
  // Queues the window that begins with the first row, and advances.
  void Next() {
    std::vector<RowRef>& held = rows_.groups[0];
    std::vector<RowRef> window;
    for (size_t k = 0; k < held.size(); k += stride_) window.push_back(held[k]);
    const size_t drop = std::min(shift_, held.size());
    held.erase(held.begin(), held.begin() + static_cast<ptrdiff_t>(drop));
    skip_ = shift_ - drop;
    Queue(window);
  }

  const size_t size_;
  const size_t shift_;
  const size_t stride_;
  const size_t span_;  // distance from a window's first to its last element
  const bool drop_remainder_;
  const BatchStacker stacker_;
  size_t skip_ = 0;  // rows to skip before the next window
};

uint64_t SaturatingProduct(uint64_t a, uint64_t b) {
  uint64_t out = 0;
  return __builtin_mul_overflow(a, b, &out) ? UINT64_MAX : out;
}

struct WindowOperator : PassesComponents {
  using Options = WindowStep;
  static constexpr std::string_view kName = "window";
  static constexpr Description kDescription = {
      .summary =
          "Stacks the elements w * shift + k * stride, k < size, for w = 0, "
          "1, …",
      .yaml = "window: {size: 5, shift: 2}",
      .element = "each component gains a first dimension",
      .errors =
          "Raises InvalidArgumentError for a number that is 0. Reading raises "
          "DataLossError if the elements have different shapes.",
      .example = R"(
>>> ds = fm.Dataset.range(5).window(3, shift=2, drop_remainder=True)
>>> [x.tolist() for x in ds.read()]
[[0, 1, 2], [2, 3, 4]]
)"};

  static FieldList Fields(WindowStep& s) {
    return {{"size", &s.size, Field::kRequired | Field::kShort,
             "Elements of a window."},
            {.name = "shift",
             .value = &s.shift,
             .flags = Field::kPositive,
             .help = "Distance between the starts of consecutive windows.",
             .unset = "the size",
             .if_unset = s.size},
            {"stride", &s.stride, Field::kOptional,
             "Distance between consecutive elements of a window."},
            {"drop_remainder", &s.drop_remainder, Field::kOptional,
             "Drops last windows that are not full."}};
  }
  static StepTraits Traits(const WindowStep& s) {
    // The options may be invalid here, because they are checked later.
    const uint64_t before_last = SaturatingProduct(
        static_cast<uint64_t>(s.size) - 1, static_cast<uint64_t>(s.stride));
    return {.needs = StepNeeds::kSequence,
            .batch_dims = BatchDims::kAdded,
            .joins = static_cast<uint64_t>(s.size),
            .holds = before_last,
            .first_after =
                before_last == UINT64_MAX ? before_last : before_last + 1,
            .next_after = static_cast<uint64_t>(std::max(s.shift, s.size))};
  }
  static std::string Describe(const WindowStep& s) {
    return fmt::format("{}, shift {}, stride {}", s.size,
                       s.shift == 0 ? s.size : s.shift, s.stride);
  }
  static absl::StatusOr<ElementSpec> Output(const WindowStep& s,
                                            const StepInput& in) {
    FM_RETURN_IF_ERROR(CheckSize("size", s.size));
    FM_RETURN_IF_ERROR(CheckSize("stride", s.stride));
    if (s.shift != 0) FM_RETURN_IF_ERROR(CheckSize("shift", s.shift));
    if ((s.size - 1) > kBatchSizeMax / s.stride) {
      return InvalidArgument("a window spans at most {} elements",
                             kBatchSizeMax);
    }
    return BatchedSpec(in.spec, s.drop_remainder ? s.size : kUnknownDim,
                       BatchLayout::kEqual, {});
  }
  static ClientSteps MakeClientSteps(const WindowStep& s,
                                     const std::shared_ptr<const Plan>& plan,
                                     size_t step) {
    return ClientStepsOf(std::make_unique<WindowRows>(*plan, step, s));
  }
};

}  // namespace

const StepKind& WindowKind() { return KindOf<WindowOperator>(); }

}  // namespace feedmill
