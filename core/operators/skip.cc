#include <algorithm>
#include <utility>

#include "core/base/status.h"
#include "core/operators/step_kind_of.h"
#include "core/operators/type_checks.h"
#include "core/pipeline/countdown_rows.h"

namespace feedmill {
namespace {

class SkipRows final : public CountdownRows {
 public:
  using CountdownRows::CountdownRows;

  absl::Status OnPush(Flow flow) override {
    const size_t drop =
        static_cast<size_t>(std::min<uint64_t>(left_, flow.chunk.rows));
    left_ -= drop;
    if (drop == flow.chunk.rows) return absl::OkStatus();
    if (drop > 0) flow = flow.Slice(drop, flow.chunk.rows);
    return next->Push(std::move(flow));
  }
};

struct SkipOperator : PassesComponents {
  using Options = SkipStep;
  static constexpr std::string_view kName = "skip";
  static constexpr Description kDescription = {
      .summary = "Skips the first count elements.",
      .yaml = "skip: 5",
      .element = "unchanged",
      .errors = "Raises InvalidArgumentError for a negative count.",
      .example = R"(
>>> [int(x) for x in fm.Dataset.range(5).skip(3).read()]
[3, 4]
)"};

  static FieldList Fields(SkipStep& s) {
    return {{"count", &s.count, Field::kRequired | Field::kShort, "Elements."}};
  }
  static StepTraits Traits(const SkipStep& s) {
    return {.needs = StepNeeds::kPlace,
            .keeps_count = true,
            .first_after = static_cast<uint64_t>(s.count)};
  }
  static std::optional<uint64_t> Count(const SkipStep& s, uint64_t elements) {
    return elements - std::min(elements, static_cast<uint64_t>(s.count));
  }
  static std::string Describe(const SkipStep& s) {
    return fmt::format("{}", s.count);
  }
  static absl::StatusOr<ElementSpec> Output(const SkipStep& s,
                                            const StepInput& in) {
    FM_RETURN_IF_ERROR(CheckCount(s.count));
    return in.spec;
  }
  static absl::Status AddToPlan(const SkipStep& s, PlanBuilder& plan) {
    return plan.Skip(s.count);
  }
  static ClientSteps MakeClientSteps(const SkipStep& s,
                                     const std::shared_ptr<const Plan>&,
                                     size_t) {
    return ClientStepsOf(
        std::make_unique<SkipRows>(static_cast<uint64_t>(s.count)));
  }
};

}  // namespace

const StepKind& SkipKind() { return KindOf<SkipOperator>(); }

}  // namespace feedmill
