#include "core/base/status.h"
#include "core/operators/step_kind_of.h"

namespace feedmill {
namespace {

struct RepeatOperator : PassesComponents {
  using Options = RepeatStep;
  static constexpr std::string_view kName = "repeat";
  static constexpr Description kDescription = {
      .summary =
          "Reads its input several times, each time in another order if it is "
          "shuffled.",
      .yaml = R"(repeat:
repeat: 3)",
      .element = "unchanged",
      .errors = "Raises InvalidArgumentError for a count of 0.",
      .example = R"(
>>> [int(x) for x in fm.Dataset.range(2).repeat(3).read()]
[0, 1, 0, 1, 0, 1]
)"};

  static FieldList Fields(RepeatStep& s) {
    return {
        {"count", &s.count, Field::kShort, "Number of passes.", "infinite"}};
  }
  static StepTraits Traits(const RepeatStep&) {
    return {.needs = StepNeeds::kCounts};
  }
  static std::optional<uint64_t> Count(const RepeatStep& s, uint64_t elements) {
    uint64_t all = 0;
    if (!s.count || __builtin_mul_overflow(elements, *s.count, &all)) {
      return std::nullopt;
    }
    return all;
  }
  static std::string Describe(const RepeatStep& s) {
    return s.count ? fmt::format("{}", *s.count) : "infinite";
  }
  static absl::StatusOr<ElementSpec> Output(const RepeatStep& s,
                                            const StepInput& in) {
    if (s.count.value_or(0) < 0) {
      return InvalidArgument(
          "the count must not be negative, it is {}; `repeat:` alone repeats "
          "for ever",
          *s.count);
    }
    return in.spec;
  }
  // The client stage needs no step for it: it knows the lengths of passes.
  static absl::Status AddToPlan(const RepeatStep& s, PlanBuilder& plan) {
    return plan.Repeat(s.count);
  }
};

}  // namespace

const StepKind& RepeatKind() { return KindOf<RepeatOperator>(); }

}  // namespace feedmill
