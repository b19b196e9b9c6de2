#include <algorithm>
#include <utility>

#include "core/base/status.h"
#include "core/operators/step_kind_of.h"
#include "core/operators/type_checks.h"
#include "core/pipeline/countdown_rows.h"

namespace feedmill {
namespace {

class TakeRows final : public CountdownRows {
 public:
  using CountdownRows::CountdownRows;

  absl::Status OnPush(Flow flow) override {
    if (left_ == 0) return absl::OkStatus();
    if (flow.chunk.rows > left_) {
      flow = flow.Slice(0, static_cast<size_t>(left_));
    }
    left_ -= flow.chunk.rows;
    return next->Push(std::move(flow));
  }
  bool full() const override { return left_ == 0; }
  bool full_for_ever() const override {
    return count_ == 0 || ClientStep::full_for_ever();
  }
};

struct TakeOperator : PassesComponents {
  using Options = TakeStep;
  static constexpr std::string_view kName = "take";
  static constexpr Description kDescription = {
      .summary = "Ends after count elements.",
      .yaml = "take: 5",
      .element = "unchanged",
      .errors = "Raises InvalidArgumentError for a negative count.",
      .example = R"(
>>> [int(x) for x in fm.Dataset.range(9).take(2).read()]
[0, 1]
)"};

  static FieldList Fields(TakeStep& s) {
    return {{"count", &s.count, Field::kRequired | Field::kShort, "Elements."}};
  }
  static StepTraits Traits(const TakeStep&) {
    return {.needs = StepNeeds::kPlace, .keeps_count = true};
  }
  static std::optional<uint64_t> Count(const TakeStep& s, uint64_t elements) {
    return std::min(elements, static_cast<uint64_t>(s.count));
  }
  static std::string Describe(const TakeStep& s) {
    return fmt::format("{}", s.count);
  }
  static absl::StatusOr<ElementSpec> Output(const TakeStep& s,
                                            const StepInput& in) {
    FM_RETURN_IF_ERROR(CheckCount(s.count));
    return in.spec;
  }
  static absl::Status AddToPlan(const TakeStep& s, PlanBuilder& plan) {
    return plan.Take(s.count);
  }
  static ClientSteps MakeClientSteps(const TakeStep& s,
                                     const std::shared_ptr<const Plan>&,
                                     size_t) {
    return ClientStepsOf(
        std::make_unique<TakeRows>(static_cast<uint64_t>(s.count)));
  }
};

}  // namespace

const StepKind& TakeKind() { return KindOf<TakeOperator>(); }

}  // namespace feedmill
