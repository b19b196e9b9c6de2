#include <array>

#include "core/base/status.h"
#include "core/operators/step_kind_of.h"
#include "core/operators/type_checks.h"
#include "core/pipeline/batch_rows.h"

namespace feedmill {
namespace {

constexpr Description kBatch = {
    .summary = "Stacks elements along a new first axis.",
    .yaml = R"(batch: 32
batch: {size: 32, drop_remainder: true})",
    .element = "each component gains a first dimension",
    .errors =
        "Raises InvalidArgumentError for a size of 0. Reading raises "
        "DataLossError if the elements of a batch have different shapes; "
        "see `padded_batch`.",
    .example = R"(
>>> [x.tolist() for x in fm.Dataset.range(5).batch(2).read()]
[[0, 1], [2, 3], [4]]
)"};

constexpr Description kPaddedBatch = {
    .summary = "Stacks elements as `batch`; shorter rows are padded.",
    .yaml =
        R"(padded_batch: {size: 32, shapes: {tokens: 128}, values: {tokens: -1}})",
    .element = "as `batch`; shorter rows are padded",
    .errors =
        "Reading raises DataLossError for a row that is longer than its "
        "shape.",
    .example = R"-(
>>> rows = fm.Dataset.text("notes.txt").map("decode_raw(x, uint8)")
>>> batch = next(rows.padded_batch(3, values={"x": 32}).read())
>>> batch.shape, bytes(batch[0])
((3, 11), b'first line ')
)-"};

constexpr Description kRaggedBatch = {
    .summary =
        "Joins rows along their first axis; `<name>_offsets` tell them "
        "apart.",
    .yaml = "ragged_batch: 32",
    .element = "rows are joined, `<name>_offsets` tell them apart",
    .errors =
        "Reading raises InvalidArgumentError for arrays that differ in more "
        "than the first dimension.",
    .example = R"-(
>>> words = fm.Dataset.text("notes.txt").map(words="split(x, ' ')").ragged_batch(3)
>>> batch = next(words.read())
>>> batch["words"].tolist(), batch["words_offsets"].tolist()
([b'first', b'line', b'second', b'line', b'third', b'line'], [0, 2, 4, 6])
)-"};

struct BatchOperator : PassesComponents {
  using Options = BatchStep;
  static constexpr std::array<std::string_view, 3> kNames = {
      "batch", "padded_batch", "ragged_batch"};
  static constexpr std::array<Description, 3> kDescriptions = {
      kBatch, kPaddedBatch, kRaggedBatch};

  static BatchStep New(std::string_view name) {
    BatchStep s;
    s.layout = name == "batch"          ? BatchLayout::kEqual
               : name == "padded_batch" ? BatchLayout::kPadded
                                        : BatchLayout::kRagged;
    return s;
  }
  static std::string_view NameOf(const BatchStep& s) {
    return s.layout == BatchLayout::kEqual    ? "batch"
           : s.layout == BatchLayout::kPadded ? "padded_batch"
                                              : "ragged_batch";
  }
  static FieldList Fields(BatchStep& s) {
    FieldList fields = {{"size", &s.size, Field::kRequired | Field::kShort,
                         "Elements of a batch."},
                        {"drop_remainder", &s.drop_remainder, Field::kOptional,
                         "Drops a last batch that is not full."}};
    if (s.layout == BatchLayout::kPadded) {
      fields.push_back({"padding", PaddingList{&s.padding}, Field::kOptional,
                        "Shapes to pad to, and values to pad with."});
    }
    return fields;
  }
  static StepTraits Traits(const BatchStep& s) {
    const auto size = static_cast<uint64_t>(s.size);
    return {.needs = StepNeeds::kPlace,
            .batch_dims = BatchDims::kAdded,
            .joins_records = s.layout == BatchLayout::kRagged,
            .joins = size,
            .holds = size - 1,
            .next_after = size};
  }
  static std::optional<uint64_t> Count(const BatchStep& s, uint64_t elements) {
    const auto size = static_cast<uint64_t>(s.size);
    const bool rest = elements % size > 0 && !s.drop_remainder;
    return elements / size + (rest ? 1 : 0);
  }
  static std::string Describe(const BatchStep& s) {
    return fmt::format("{}{}", s.size, s.drop_remainder ? ", whole ones" : "");
  }
  static absl::StatusOr<ElementSpec> Output(const BatchStep& s,
                                            const StepInput& in) {
    FM_RETURN_IF_ERROR(CheckSize("size", s.size));
    return BatchedSpec(in.spec, s.drop_remainder ? s.size : kUnknownDim,
                       s.layout, s.padding);
  }
  static ComponentMask Needed(const BatchStep& s, const ElementSpec& in,
                              const ComponentMask& needed) {
    return s.layout == BatchLayout::kRagged ? NeededByRagged(in, needed)
                                            : needed;
  }
  static ComponentMask Made(const BatchStep& s, const ElementSpec& in,
                            const ComponentMask& made, const ComponentMask&) {
    return s.layout == BatchLayout::kRagged ? MadeByRagged(in, made) : made;
  }
  static absl::Status AddToPlan(const BatchStep& s, PlanBuilder& plan) {
    return plan.Batch(s.size, s.drop_remainder);
  }
  static ClientSteps MakeClientSteps(const BatchStep& s,
                                     const std::shared_ptr<const Plan>& plan,
                                     size_t step) {
    return ClientStepsOf(MakeBatchRows(s, plan->graph().InputOf(step),
                                       plan->graph().steps[step].output));
  }
};

}  // namespace

const StepKind& BatchKind() { return KindOf<BatchOperator>(); }

}  // namespace feedmill
