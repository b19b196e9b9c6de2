#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/operators/step_kind_of.h"
#include "core/operators/type_checks.h"
#include "core/ops/image.h"
#include "core/pipeline/record_instruction.h"

namespace feedmill {
namespace {

constexpr int64_t kImageSideMax = 65'535;  // the limit of JPEG

class ResizeImages final : public RecordInstruction {
 public:
  ResizeImages(const ResizeStep& written, size_t batches, ValueId in,
               ValueId out)
      : RecordInstruction(batches, in, {out}),
        to_{written.height, written.width},
        method_(written.antialias ? ResizeMethod::kAntialias
                : written.method == ResizeStep::Method::kBilinear
                    ? ResizeMethod::kBilinear
                    : ResizeMethod::kNearest) {}

 protected:
  absl::Status Compute(const Records& records, BlockState& state,
                       size_t& failed) const override {
    const Column& in = records.column();
    OutputColumn& out = state.registers[registers[0]].storage;
    out.Reset(DType::kUInt8, {to_.height, to_.width, 0});
    std::byte* target = state.direct[outputs[0]];
    const std::byte* const begin = target;
    size_t made = 0;
    std::vector<int64_t> channels;
    for (size_t k = 0; k < records.count(); ++k) {
      failed = k;
      const auto dims = in.RowDims(k);
      const ImageSize from{dims[0], dims[1]};
      channels.push_back(dims[2]);
      const auto bytes = static_cast<size_t>(to_.height * to_.width * dims[2]);
      std::byte* const to =
          begin != nullptr ? target + made : out.values.Extend(bytes);
      made += bytes;
      const absl::Status status = ResizeImage(
          in.Items<uint8_t>(k), from, {reinterpret_cast<uint8_t*>(to), bytes},
          to_, dims[2], method_);
      if (!status.ok()) return DataLoss("{}", ErrorText(status));
    }
    out.shape[2] = channels.empty() ? 0 : channels.front();
    const bool same =
        std::all_of(channels.begin(), channels.end(),
                    [&](int64_t c) { return c == channels.front(); });
    if (!same) SetChannels(channels, out);
    if (begin == nullptr) {
      return SetOutput(0, records, out.View(), state, failed);
    }
    Column& column = state.registers[registers[0]].column;
    column = Column{
        DType::kUInt8, out.shape, Buffer(nullptr, begin, made), {}, {}, {}};
    state.values[outputs[0]] = &column;
    return absl::OkStatus();
  }

 private:
  void SetChannels(std::span<const int64_t> channels, OutputColumn& out) const {
    int64_t start = 0;
    out.row_starts.Push(start);
    for (const int64_t c : channels) {
      for (const int64_t dim : {to_.height, to_.width, c}) {
        out.row_shapes.Push(dim);
      }
      start += to_.height * to_.width * c;
      out.row_starts.Push(start);
    }
    out.shape[2] = kUnknownDim;
  }

  const ImageSize to_;
  const ResizeMethod method_;
};

struct ResizeOperator : DropsUnneeded {
  using Options = ResizeStep;
  static constexpr std::string_view kName = "resize";
  static constexpr Description kDescription = {
      .summary = "Resizes uint8 images [h, w, c] to [height, width, c].",
      .yaml = "resize: {height: 224, width: 224}",
      .element = "the component becomes uint8 [224, 224, channels]",
      .errors =
          "Reading raises InvalidArgumentError if the component is no such "
          "image.",
      .example = R"(
>>> ds = fm.Dataset.images("photos/*/*.jpg").decode_image().resize(height=8, width=4)
>>> next(ds.read())["image"].shape
(8, 4, 3)
)"};

  static FieldList Fields(ResizeStep& s) {
    return {{"component", ComponentName{&s.component}, Field::kOptional,
             "The component that holds the image."},
            {"height", &s.height, Field::kRequired, "Rows of pixels."},
            {"width", &s.width, Field::kRequired, "Columns of pixels."},
            {"method", Word(s.method, {"bilinear", "nearest"}),
             Field::kOptional, "How pixels are interpolated."},
            {"antialias", &s.antialias, Field::kSparse,
             "Weighs all pixels that a smaller pixel covers; bilinear only."}};
  }
  static StepTraits Traits(const ResizeStep& s) {
    return {.needs = StepNeeds::kElement,
            .heavy = true,
            .on_records = true,
            .changes = s.component};
  }
  static std::string Describe(const ResizeStep& s) {
    return fmt::format("{} to {} x {}", s.component, s.height, s.width);
  }
  static absl::StatusOr<ElementSpec> Output(const ResizeStep& s,
                                            const StepInput& in) {
    for (const int64_t side : {s.height, s.width}) {
      if (side < 1 || side > kImageSideMax) {
        return InvalidArgument("height and width must be 1 to {}, not {}",
                               kImageSideMax, side);
      }
    }
    if (s.antialias && s.method != ResizeStep::Method::kBilinear) {
      return InvalidArgument("antialias needs the method bilinear");
    }
    FM_ASSIGN_OR_RETURN(const size_t c, FindImage(s.component, in));
    const ComponentSpec& image = in.spec.components[c];
    if (image.dtype != DType::kUInt8) {
      return InvalidArgument("it needs uint8, {} is {}", NameOrX(image),
                             TypeText(image));
    }
    ElementSpec out = in.spec;
    Shape& shape = out.components[c].shape;
    shape[in.batches] = s.height;
    shape[in.batches + 1] = s.width;
    return out;
  }
  static absl::Status Compile(const ResizeStep& s, ProgramBuilder& program) {
    const auto c = program.Touch(s.component);
    if (!c) return absl::OkStatus();
    ValueId& image = program.components()[*c];
    const ValueId in = std::exchange(image, program.NewValue());
    program.Emit(
        std::make_unique<ResizeImages>(s, program.batches(), in, image));
    program.MarkOwned(image);
    program.MarkInPlace(image);
    program.SetHeavy();
    return absl::OkStatus();
  }
};

}  // namespace

const StepKind& ResizeKind() { return KindOf<ResizeOperator>(); }

}  // namespace feedmill
