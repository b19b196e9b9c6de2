#include <cmath>
#include <utility>

#include "core/base/status.h"
#include "core/operators/step_kind_of.h"
#include "core/operators/type_checks.h"
#include "core/ops/image.h"
#include "core/pipeline/random_blocks.h"
#include "core/pipeline/record_instruction.h"

namespace feedmill {
namespace {

// Copies rows to new memory.
void CopyRows(const Column& in, size_t rows, OutputColumn& out) {
  out.Reset(in.dtype, in.shape);
  const auto first = static_cast<size_t>(in.RowStart(0));
  const auto items = static_cast<size_t>(in.RowStart(rows)) - first;
  const size_t size = ItemSize(in.dtype);
  out.values.Append(in.values.data() + first * size, items * size);
  if (!in.ragged()) return;
  out.row_shapes.Append(in.row_shapes.data(),
                        rows * in.shape.size() * sizeof(int64_t));
  for (size_t row = 0; row <= rows; ++row) {
    out.row_starts.Push(in.RowStart(row) - in.RowStart(0));
  }
}

class FlipImages final : public Instruction {
 public:
  FlipImages(const RandomFlipStep& written, size_t step_index, size_t batches,
             std::shared_ptr<const Plan> plan, ValueId in, ValueId out)
      : batches_(batches),
        direction_(written.direction == RandomFlipStep::Direction::kHorizontal
                       ? FlipDirection::kHorizontal
                       : FlipDirection::kVertical),
        below_(static_cast<uint64_t>(
            std::floor(written.probability * 4294967296.0))),
        plan_(std::move(plan)) {
    step = step_index;
    inputs = {in};
    outputs = {out};
  }

  absl::Status Run(BlockState& state) const override {
    if (!in_place) {
      OutputColumn& own = state.registers[registers[0]].storage;
      CopyRows(*state.values[inputs[0]], state.rows, own);
      state.values[outputs[0]] = &own.View();
    } else {
      state.values[outputs[0]] = state.values[inputs[0]];
    }
    const Records records(*state.values[outputs[0]], state.rows, batches_);
    RandomBlocks random(*plan_, step, /*ordinal=*/0);
    for (size_t k = 0; k < records.count(); ++k) {
      const auto [row, within] =
          batches_ == 0 ? std::pair(k, size_t{0}) : records.RowOf(k);
      if (random.Of(state, row, within)[0] < below_) {
        FlipRecord(records.column(), k);
      }
    }
    return absl::OkStatus();
  }

 private:
  // Flips in place: the memory is a register of this thread or the output
  // chunk.
  void FlipRecord(const Column& column, size_t record) const {
    const auto dims = column.RowDims(record);
    const size_t rank = dims.size();
    const ImageSize size{dims[rank - 3], dims[rank - 2]};
    const size_t pixel =
        static_cast<size_t>(dims[rank - 1]) * ItemSize(column.dtype);
    const size_t bytes = static_cast<size_t>(size.height * size.width) * pixel;
    if (bytes == 0) return;
    const size_t begin =
        static_cast<size_t>(column.RowStart(record)) * ItemSize(column.dtype);
    const size_t end = begin + static_cast<size_t>(column.RowItems(record)) *
                                   ItemSize(column.dtype);
    auto* const data = const_cast<std::byte*>(column.values.data());
    for (size_t at = begin; at < end; at += bytes) {
      FlipImage({data + at, bytes}, {data + at, bytes}, size, pixel,
                direction_);
    }
  }

  const size_t batches_;
  const FlipDirection direction_;
  const uint64_t below_;
  const std::shared_ptr<const Plan> plan_;
};

struct RandomFlipOperator : DropsUnneeded {
  using Options = RandomFlipStep;
  static constexpr std::string_view kName = "random_flip";
  static constexpr Description kDescription = {
      .summary = "Mirrors images [..., h, w, c] of any dtype at random.",
      .yaml = R"(random_flip:
random_flip: {direction: vertical, probability: 0.25})",
      .element = "unchanged",
      .errors =
          "Reading raises InvalidArgumentError if the component is no image, "
          "or for a probability that is not from 0 to 1.",
      .example = R"(
>>> ds = fm.Dataset.images("photos/*/*.jpg").decode_image().random_flip(probability=1)
>>> ds.element_spec["image"]
ComponentSpec(dtype='uint8', shape=(None, None, 3))
)"};

  static FieldList Fields(RandomFlipStep& s) {
    return {{"component", ComponentName{&s.component}, Field::kOptional,
             "The component that holds the image."},
            {"direction", Word(s.direction, {"horizontal", "vertical"}),
             Field::kOptional, "The sides that are swapped."},
            {"probability", &s.probability, Field::kOptional,
             "The probability of a flip, 0 to 1."}};
  }
  static StepTraits Traits(const RandomFlipStep& s) {
    return {.needs = StepNeeds::kElement,
            .random = true,
            .on_records = true,
            .changes = s.component};
  }
  static std::string Describe(const RandomFlipStep& s) { return s.component; }
  static absl::StatusOr<ElementSpec> Output(const RandomFlipStep& s,
                                            const StepInput& in) {
    if (!(s.probability >= 0 && s.probability <= 1)) {
      return InvalidArgument("probability must be 0 to 1, not {}",
                             s.probability);
    }
    FM_ASSIGN_OR_RETURN(const size_t c, FindImage(s.component, in));
    const ComponentSpec& image = in.spec.components[c];
    if (image.dtype == DType::kBytes) {
      return InvalidArgument("it needs numbers, {} is {}", NameOrX(image),
                             TypeText(image));
    }
    return in.spec;
  }
  static absl::Status Compile(const RandomFlipStep& s,
                              ProgramBuilder& program) {
    const auto c = program.Touch(s.component);
    if (!c) return absl::OkStatus();
    const ValueId in = program.components()[*c];
    const bool in_place = program.IsOnlyUser(in) && program.IsOwned(in);
    const ValueId out = program.NewValue();
    program.components()[*c] = out;
    auto flip = std::make_unique<FlipImages>(
        s, program.step(), program.batches(), program.plan(), in, out);
    flip->in_place = in_place;
    if (in_place && program.IsInPlace(in)) program.MarkInPlace(out);
    program.MarkOwned(out);
    program.Emit(std::move(flip));
    program.SetRandom();
    return absl::OkStatus();
  }
};

}  // namespace

const StepKind& RandomFlipKind() { return KindOf<RandomFlipOperator>(); }

}  // namespace feedmill
