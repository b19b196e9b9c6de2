#include "core/base/status.h"
#include "core/operators/step_kind_of.h"
#include "core/plan/weighted_choice.h"

namespace feedmill {
namespace {

struct WeightedSampleOperator : PassesComponents {
  using Options = WeightedSampleStep;
  static constexpr std::string_view kName = "weighted_sample";
  static constexpr Description kDescription = {
      .summary =
          "Chooses elements in proportion to weights, in a random order, "
          "others in each epoch and pass.",
      .yaml = R"(weighted_sample: {weights: [1, 0.5, 2]}
weighted_sample: {classes: [0, 0, 1, 0], count: 100})",
      .element = "unchanged",
      .details =
          "An element is chosen floor(E) or ceil(E) times, E being its share "
          "of the weights times `count`. With `classes`, a weight is shared "
          "by the elements of its class, which is chosen floor(E) or ceil(E) "
          "times; without weights, classes are balanced. With `distinct`, E "
          "is at most 1."};

  static FieldList Fields(WeightedSampleStep& s) {
    return {
        {"weights", &s.weights, Field::kShort,
         "A number of at least 0 for each element or class, or a file of them.",
         "equal weights of all classes"},
        {"classes", &s.classes, Field::kSparse | Field::kLong,
         "The class of each element, an integer from 0, or a file of them.",
         "none"},
        {"count", &s.count, Field::kSparse, "Number of elements to choose.",
         "as many as there are"},
        {"distinct", &s.distinct, Field::kSparse,
         "Chooses each element once at most: without replacement."},
        {"seed", &s.seed, Field::kOptional,
         "Replaces the seed of the pipeline for this step.", "the pipeline's"}};
  }
  static StepTraits Traits(const WeightedSampleStep&) {
    return {.needs = StepNeeds::kCounts, .random = true};
  }
  static std::optional<uint64_t> Count(const WeightedSampleStep& s,
                                       uint64_t elements) {
    return s.count ? static_cast<uint64_t>(*s.count) : elements;
  }
  static std::string Describe(const WeightedSampleStep& s) {
    std::string text = fmt::format("{} weights", s.weights.size());
    if (!s.classes.empty()) {
      text = fmt::format("classes of {} elements", s.classes.size());
    }
    if (s.count) text += fmt::format(", count {}", *s.count);
    if (s.distinct) text += ", distinct";
    if (s.seed) text += fmt::format(", seed {}", *s.seed);
    return text;
  }
  static absl::StatusOr<ElementSpec> Output(const WeightedSampleStep& s,
                                            const StepInput& in) {
    FM_RETURN_IF_ERROR(WeightedChoice::Check(s));
    return in.spec;
  }
  static absl::Status AddToPlan(const WeightedSampleStep& s,
                                PlanBuilder& plan) {
    return plan.WeightedSample(s);
  }
};

}  // namespace

const StepKind& WeightedSampleKind() {
  return KindOf<WeightedSampleOperator>();
}

}  // namespace feedmill
