#include "core/base/status.h"
#include "core/operators/predicate_step.h"
#include "core/operators/step_kind_of.h"

namespace feedmill {
namespace {

struct SampleOperator : PredicateStep<SampleOperator> {
  using Options = SampleStep;
  static constexpr std::string_view kName = "sample";
  static constexpr Description kDescription = {
      .summary = "Keeps a fraction of the elements, chosen by a hash.",
      .yaml = R"(sample: 0.1
sample: {fraction: 0.1, by: user, seed: 7})",
      .element = "unchanged",
      .details =
          "The same elements are kept in every epoch, and when files are "
          "added. Elements with the same key are kept or left out together. "
          "Without `by`, all components are the key, and all are read.",
      .errors =
          "Raises InvalidArgumentError unless the fraction is from 0 to 1.",
      .example = R"(
>>> [int(x) for x in fm.Dataset.range(30).sample(0.2).read()]
[3, 7, 19, 24, 26]
)"};

  static FieldList Fields(SampleStep& s) {
    return {{"fraction", &s.fraction, Field::kRequired | Field::kShort,
             "The probability of an element, from 0 to 1."},
            {"by", &s.by, Field::kOptional,
             "The key: an expression, or several by name.", "all components"},
            {"seed", &s.seed, Field::kOptional,
             "Another seed chooses other elements."}};
  }
  static std::string Describe(const SampleStep& s) {
    return fmt::format("{}", s.fraction);
  }
  static absl::Status Check(const SampleStep& s) {
    if (s.fraction >= 0 && s.fraction <= 1) return absl::OkStatus();
    return InvalidArgument("the fraction must be 0 to 1, it is {}", s.fraction);
  }
  static Expr Predicate(const SampleStep& s, const ElementSpec& in) {
    return HashOf(kName, s.seed, s.by, in) < s.fraction;
  }
};

}  // namespace

const StepKind& SampleKind() { return KindOf<SampleOperator>(); }

}  // namespace feedmill
