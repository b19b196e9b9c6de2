#include <memory>

#include "core/base/status.h"
#include "core/operators/step_kind_of.h"
#include "core/operators/type_checks.h"
#include "core/pipeline/batch_rows.h"

namespace feedmill {
namespace {

struct RebatchOperator : NeedsAllComponents {
  using Options = RebatchStep;
  static constexpr std::string_view kName = "rebatch";
  static constexpr Description kDescription = {
      .summary = "Makes batches of another size.",
      .yaml = "rebatch: 32",
      .element = "batches of another size",
      .errors = "Raises InvalidArgumentError for a size of 0.",
      .example = R"(
>>> [x.tolist() for x in fm.Dataset.range(6).batch(3).rebatch(4).read()]
[[0, 1, 2, 3], [4, 5]]
)"};

  static FieldList Fields(RebatchStep& s) {
    return {{"size", &s.size, Field::kRequired | Field::kShort,
             "Elements of a batch."},
            {"drop_remainder", &s.drop_remainder, Field::kOptional,
             "Drops a last batch that is not full."}};
  }
  static StepTraits Traits(const RebatchStep& s) {
    return {.needs = StepNeeds::kSequence,
            .batch_dims = BatchDims::kOneOrMore,
            .next_after = static_cast<uint64_t>(s.size)};
  }
  static std::string Describe(const RebatchStep& s) {
    return fmt::format("{}{}", s.size, s.drop_remainder ? ", whole ones" : "");
  }
  static absl::StatusOr<ElementSpec> Output(const RebatchStep& s,
                                            const StepInput& in) {
    FM_RETURN_IF_ERROR(CheckSize("size", s.size));
    FM_ASSIGN_OR_RETURN(ElementSpec out, UnbatchedSpec(in.spec));
    for (ComponentSpec& c : out.components) {
      c.shape.insert(c.shape.begin(), s.drop_remainder ? s.size : kUnknownDim);
    }
    return out;
  }
  static ClientSteps MakeClientSteps(const RebatchStep& s,
                                     const std::shared_ptr<const Plan>& plan,
                                     size_t step) {
    const auto& output = plan->graph().steps[step].output;
    auto records = std::make_shared<ElementSpec>(*output);
    for (ComponentSpec& c : records->components) {
      c.shape.erase(c.shape.begin());
    }
    return ClientStepsOf(
        MakeUnbatchRows(records),
        MakeBatchRows({.size = s.size, .drop_remainder = s.drop_remainder},
                      *records, output));
  }
};

}  // namespace

const StepKind& RebatchKind() { return KindOf<RebatchOperator>(); }

}  // namespace feedmill
