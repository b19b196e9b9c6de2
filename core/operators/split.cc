#include <cmath>
#include <numeric>

#include "absl/strings/str_join.h"
#include "core/base/status.h"
#include "core/operators/predicate_step.h"
#include "core/operators/step_kind_of.h"

namespace feedmill {
namespace {

constexpr double kSumTolerance = 1e-9;

struct SplitOperator : PredicateStep<SplitOperator> {
  using Options = SplitStep;
  static constexpr std::string_view kName = "split";
  static constexpr Description kDescription = {
      .summary = "Keeps one of several disjoint parts, chosen by a hash.",
      .yaml = R"(split: {parts: [0.8, 0.1, 0.1], part: 0}
split: {parts: [0.8, 0.2], part: 1, by: user})",
      .element = "unchanged",
      .details =
          "Each element belongs to one part, also in other epochs and when "
          "files are added. Elements with the same key belong to the same "
          "part. Without `by`, all components are the key, and all are read.",
      .errors =
          "Raises InvalidArgumentError unless the sum of the parts is 1, and "
          "`part` is the index of one.",
      .example = R"(
>>> ds = fm.Dataset.range(8)
>>> [int(x) for x in ds.split([0.5, 0.5], 1).read()]
[1, 3, 7]
)"};

  static FieldList Fields(SplitStep& s) {
    return {
        {"parts", &s.parts, Field::kRequired,
         "Fractions of the elements; their sum is 1."},
        {"part", &s.part, Field::kRequired,
         "The index of the part that is kept, from 0."},
        {"by", &s.by, Field::kOptional,
         "The key: an expression, or several by name.", "all components"},
        {"seed", &s.seed, Field::kOptional, "Another seed makes other parts."}};
  }
  static std::string Describe(const SplitStep& s) {
    return fmt::format("part {} of [{}]", s.part, absl::StrJoin(s.parts, ", "));
  }
  static absl::Status Check(const SplitStep& s) {
    double sum = 0;
    for (const double part : s.parts) {
      if (!(part >= 0)) {
        return InvalidArgument("a part must be 0 or more, one is {}", part);
      }
      sum += part;
    }
    if (!(std::abs(sum - 1) <= kSumTolerance)) {
      return InvalidArgument("the sum of the parts must be 1, it is {}", sum);
    }
    if (s.part < 0 || static_cast<size_t>(s.part) >= s.parts.size()) {
      return InvalidArgument("the part must be 0 to {}, it is {}",
                             s.parts.size() - 1, s.part);
    }
    return absl::OkStatus();
  }
  // The last part has no upper bound, so that each element is in a part.
  static Expr Predicate(const SplitStep& s, const ElementSpec& in) {
    const auto first = s.parts.begin();
    const double low = std::accumulate(first, first + s.part, 0.0);
    const Expr hash = HashOf(kName, s.seed, s.by, in);
    if (static_cast<size_t>(s.part) + 1 == s.parts.size()) return hash >= low;
    return hash >= low &&
           hash < std::accumulate(first, first + s.part + 1, 0.0);
  }
};

}  // namespace

const StepKind& SplitKind() { return KindOf<SplitOperator>(); }

}  // namespace feedmill
