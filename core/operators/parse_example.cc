#include <utility>

#include "core/base/status.h"
#include "core/dataset/source_types.h"
#include "core/operators/example_features.h"
#include "core/operators/outputs.h"
#include "core/operators/step_kind_of.h"
#include "core/operators/type_checks.h"

namespace feedmill {
namespace {

struct ParseExampleOperator : NeedsAllComponents {
  using Options = ParseExampleStep;
  static constexpr std::string_view kName = "parse_example";
  static constexpr Description kDescription = {
      .summary =
          "Reads tf.train.Example messages: a component for each feature.",
      .yaml =
          R"(parse_example: {image: bytes, feat: "float32[3]", ids: "int64[?]"})",
      .element = "these components, from a single bytes one",
      .details =
          "`float32[3] = 0` is three zeros in records without that feature.",
      .errors =
          "Reading raises DataLossError for a record that is no such message, "
          "or that lacks a feature without a default.",
      .example = R"(
>>> ds = fm.Dataset.tfrecord("examples.tfrecord")
>>> ds = ds.parse_example({"label": "int64", "weight": "float32 = 1"})
>>> next(ds.read())
{'label': np.int64(0), 'weight': np.float32(1.0)}
)"};

  static FieldList Fields(ParseExampleStep& s) {
    return {{"features", &s.features, Field::kWhole | Field::kRequired,
             "A map from features to types like int64 or \"float32[3]\"."}};
  }
  static StepTraits Traits(const ParseExampleStep&) {
    return {.needs = StepNeeds::kElement,
            .on_records = true,
            .lists_components = true};
  }
  static std::string Describe(const ParseExampleStep& s) {
    return DescribeFeatures(s.features);
  }
  static absl::StatusOr<ElementSpec> Output(const ParseExampleStep& s,
                                            const StepInput& in) {
    FM_RETURN_IF_ERROR(CheckMessages(in, "tf.train.Example"));
    ElementSpec out;
    for (const Feature& feature : s.features) {
      FM_RETURN_IF_ERROR(AddFeature(feature, false, in, out));
    }
    FM_RETURN_IF_ERROR(CheckComponentNames(out));
    return out;
  }
  // The single input component is always needed.
  static ComponentMask Made(const Options&, const ElementSpec&,
                            const ComponentMask&, const ComponentMask& needed) {
    return FirstIfNone(needed);
  }
  static absl::Status Compile(const ParseExampleStep& s,
                              ProgramBuilder& program) {
    Features live;
    ElementSpec parsed;
    for (const Feature& f : s.features) {
      if (program.made().Find(f.name) < 0) continue;  // no step needs it
      live.push_back(f);
      parsed.components.push_back({f.name, f.dtype, f.shape, f.logical});
    }
    CompileParser(ExampleParser(std::move(live)), std::move(parsed), program);
    return absl::OkStatus();
  }
};

}  // namespace

const StepKind& ParseExampleKind() { return KindOf<ParseExampleOperator>(); }

}  // namespace feedmill
