#include <utility>

#include "core/base/status.h"
#include "core/dataset/source_types.h"
#include "core/operators/example_features.h"
#include "core/operators/outputs.h"
#include "core/operators/step_kind_of.h"
#include "core/operators/type_checks.h"

namespace feedmill {
namespace {

struct ParseSequenceExampleOperator : NeedsAllComponents {
  using Options = ParseSequenceExampleStep;
  static constexpr std::string_view kName = "parse_sequence_example";
  static constexpr Description kDescription = {
      .summary =
          "Reads tf.train.SequenceExample messages: a component for each "
          "feature and feature list.",
      .yaml =
          R"(parse_sequence_example: {context: {id: int64}, sequence: {words: bytes, at: "float32[2]"}})",
      .element = "these components; those of `sequence` gain a first dimension",
      .errors =
          "Reading raises DataLossError for a record that is no such message, "
          "or that lacks a feature without a default.",
      .example = R"(
>>> ds = fm.Dataset.tfrecord("sequences.tfrecord")
>>> ds = ds.parse_sequence_example(context={"label": "int64"}, sequence={"steps": "int64"})
>>> next(ds.read())
{'label': np.int64(7), 'steps': array([1, 2])}
)"};

  static FieldList Fields(ParseSequenceExampleStep& s) {
    return {{"context", &s.context, Field::kOptional,
             "Features of the context, with their types."},
            {"sequence", &s.sequence, Field::kOptional,
             "Feature lists, with the type of one step."}};
  }
  static StepTraits Traits(const ParseSequenceExampleStep&) {
    return {.needs = StepNeeds::kElement,
            .on_records = true,
            .lists_components = true};
  }
  static std::string Describe(const ParseSequenceExampleStep& s) {
    Features all = s.context;
    all.insert(all.end(), s.sequence.begin(), s.sequence.end());
    return DescribeFeatures(all);
  }
  static absl::StatusOr<ElementSpec> Output(const ParseSequenceExampleStep& s,
                                            const StepInput& in) {
    FM_RETURN_IF_ERROR(CheckMessages(in, "tf.train.SequenceExample"));
    ElementSpec out;
    for (const Feature& feature : s.context) {
      FM_RETURN_IF_ERROR(AddFeature(feature, false, in, out));
    }
    for (const Feature& feature : s.sequence) {
      FM_RETURN_IF_ERROR(AddFeature(feature, true, in, out));
    }
    FM_RETURN_IF_ERROR(CheckComponentNames(out));
    return out;
  }
  // The single input component is always needed.
  static ComponentMask Made(const Options&, const ElementSpec&,
                            const ComponentMask&, const ComponentMask& needed) {
    return FirstIfNone(needed);
  }
  static absl::Status Compile(const ParseSequenceExampleStep& s,
                              ProgramBuilder& program) {
    ParseSequenceExampleStep live;
    ElementSpec parsed;
    for (const Feature& f : s.context) {
      if (program.made().Find(f.name) < 0) continue;  // no step needs it
      live.context.push_back(f);
      parsed.components.push_back({f.name, f.dtype, f.shape, f.logical});
    }
    for (const Feature& f : s.sequence) {
      if (program.made().Find(f.name) < 0) continue;
      live.sequence.push_back(f);
      Shape shape = f.shape;
      shape.insert(shape.begin(), kUnknownDim);
      parsed.components.push_back(
          {f.name, f.dtype, std::move(shape), f.logical});
    }
    CompileParser(ExampleParser(std::move(live)), std::move(parsed), program);
    return absl::OkStatus();
  }
};

}  // namespace

const StepKind& ParseSequenceExampleKind() {
  return KindOf<ParseSequenceExampleOperator>();
}

}  // namespace feedmill
