#include "core/operators/example_features.h"

#include <utility>

#include "core/base/status.h"

namespace feedmill {
namespace {

constexpr int64_t kFeatureItemsMax = int64_t{1} << 31;

absl::Status CheckFeature(const Feature& feature, bool listed) {
  if (feature.dtype != DType::kBytes && feature.dtype != DType::kInt64 &&
      feature.dtype != DType::kFloat32) {
    return InvalidArgument(
        "a tf.train.Example holds bytes, int64 and "
        "float32; {} is {} (cast it in a map)",
        feature.name, DTypeName(feature.dtype));
  }
  int64_t items = 1;
  for (size_t k = 0; k < feature.shape.size(); ++k) {
    int64_t dim = feature.shape[k];
    if (dim == kUnknownDim && listed) {
      return InvalidArgument(
          "all steps of the feature list {} must have one known shape, and "
          "{} is not one",
          feature.name, ShapeToString(feature.shape));
    }
    // An unknown first dim follows from the number of values.
    if (dim == kUnknownDim && k == 0) dim = 1;
    if (dim < 0 || (dim == 0 && feature.shape[0] == kUnknownDim) ||
        __builtin_mul_overflow(items, dim, &items) ||
        items > kFeatureItemsMax) {
      return InvalidArgument("the shape {} of {} does not fit",
                             ShapeToString(feature.shape), feature.name);
    }
  }
  return absl::OkStatus();
}

class ParseMessages final : public RecordInstruction {
 public:
  ParseMessages(const ExampleParser& parser, ElementSpec parsed, size_t batches,
                ValueId in, std::vector<ValueId> out)
      : RecordInstruction(batches, in, std::move(out)),
        parser_(parser),
        spec_(std::make_shared<const ElementSpec>(std::move(parsed))) {
    appends = batches == 0;
  }

 protected:
  absl::Status Compute(const Records& records, BlockState& state,
                       size_t& failed) const override {
    auto found = state.parsers.find(this);
    if (found == state.parsers.end()) {
      found =
          state.parsers.emplace(this, Parsing(parser_, outputs.size())).first;
    }
    Parsing& parsing = found->second;
    if (ChunkBuilder* const to = state.input->appended; to != nullptr) {
      const size_t before = to->bytes();
      const absl::Status status = Append(records, state, parsing, *to, failed);
      if (!status.ok()) to->DropUnfinished();
      state.appended_bytes = to->bytes() - before;
      return status;
    }
    ChunkBuilder builder(spec_);
    for (size_t c = 0; c < parsing.bytes.size(); ++c) {
      builder.ReserveValues(c, parsing.bytes[c] + parsing.bytes[c] / 16);
    }
    FM_RETURN_IF_ERROR(Append(records, state, parsing, builder, failed));
    builder.FinishRows(records.count());
    const Chunk chunk = std::move(builder).Finish();
    for (size_t c = 0; c < chunk.columns.size(); ++c) {
      parsing.bytes[c] = chunk.columns[c].values.size();
      FM_RETURN_IF_ERROR(
          SetOutput(c, records, chunk.columns[c], state, failed));
    }
    return absl::OkStatus();
  }

 private:
  // Appends one row per record; after an error, `failed` is the bad record.
  absl::Status Append(const Records& records, const BlockState& state,
                      Parsing& parsing, ChunkBuilder& to,
                      size_t& failed) const {
    const size_t trailing = state.EncodingOf(inputs[0]).trailing;
    parsing.records.resize(records.count());
    for (size_t k = 0; k < records.count(); ++k) {
      parsing.records[k] = records.column().BytesAt(static_cast<int64_t>(k));
      parsing.records[k].remove_suffix(trailing);
    }
    return parsing.parser.Parse(parsing.records, to, failed);
  }

  const ExampleParser parser_;  // each thread copies it
  const std::shared_ptr<const ElementSpec> spec_;
};

}  // namespace

absl::Status CheckMessages(const StepInput& input, std::string_view message) {
  if (input.spec.components.size() == 1 &&
      input.spec.components[0].dtype == DType::kBytes &&
      input.spec.components[0].shape.size() == input.batches) {
    return absl::OkStatus();
  }
  return InvalidArgument(
      "it needs a single component of bytes, a {} for each record; here the "
      "element is {}",
      message, input.spec.ToString());
}

absl::Status AddFeature(const Feature& feature, bool listed,
                        const StepInput& input, ElementSpec& out) {
  if (feature.name.empty()) return InvalidArgument("a feature has no name");
  FM_RETURN_IF_ERROR(CheckFeature(feature, listed));
  if (listed && feature.default_text) {
    return InvalidArgument(
        "the feature list {} has a default, but a record without it has a list "
        "of length 0; leave the default out",
        feature.name);
  }
  FM_RETURN_IF_ERROR(ExampleParser::CheckDefault(feature));
  Shape shape = input.spec.components[0].shape;
  if (listed) shape.push_back(kUnknownDim);
  shape.insert(shape.end(), feature.shape.begin(), feature.shape.end());
  out.components.push_back(
      {feature.name, feature.dtype, std::move(shape), feature.logical});
  return absl::OkStatus();
}

void CompileParser(const ExampleParser& parser, ElementSpec parsed,
                   ProgramBuilder& program) {
  const ValueId in = program.components().at(0);
  program.components().clear();
  for (size_t k = 0; k < parsed.components.size(); ++k) {
    program.components().push_back(program.NewValue());
  }
  if (program.batches() == 0) program.SetTakes(in, Encoding::kTrailing);
  program.Emit(std::make_unique<ParseMessages>(
      parser, std::move(parsed), program.batches(), in, program.components()));
}

}  // namespace feedmill
