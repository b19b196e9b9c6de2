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
        fixed_{written.height, written.width},
        longer_(written.longer > 0),
        side_(std::max(written.shorter, written.longer)),
        method_(written.antialias ? ResizeMethod::kAntialias
                : written.method == ResizeStep::Method::kBilinear
                    ? ResizeMethod::kBilinear
                    : ResizeMethod::kNearest) {}

 protected:
  absl::Status Compute(const Records& records, BlockState& state,
                       size_t& failed) const override {
    const Column& in = records.column();
    OutputColumn& out = state.registers[registers[0]].storage;
    out.Reset(DType::kUInt8, {fixed_.height, fixed_.width, 0});
    std::byte* target = state.direct[outputs[0]];
    const std::byte* const begin = target;
    size_t made = 0;
    std::vector<Shape> shapes;
    for (size_t k = 0; k < records.count(); ++k) {
      failed = k;
      const auto dims = in.RowDims(k);
      const ImageSize from{dims[0], dims[1]};
      const ImageSize size =
          side_ == 0 ? fixed_ : SizeBySide(from, longer_, side_);
      if (std::max(size.height, size.width) > kImageSideMax) {
        return DataLoss("the image of {} x {} pixels would become {} x {}",
                        from.height, from.width, size.height, size.width);
      }
      shapes.push_back({size.height, size.width, dims[2]});
      const auto bytes =
          static_cast<size_t>(size.height * size.width * dims[2]);
      std::byte* const to =
          begin != nullptr ? target + made : out.values.Extend(bytes);
      made += bytes;
      const absl::Status status = ResizeImage(
          in.Items<uint8_t>(k), from, {reinterpret_cast<uint8_t*>(to), bytes},
          size, dims[2], method_);
      if (!status.ok()) return DataLoss("{}", ErrorText(status));
    }
    if (!shapes.empty()) out.shape = shapes.front();
    const bool same = std::ranges::all_of(
        shapes, [&](const Shape& shape) { return shape == shapes.front(); });
    if (!same) SetShapes(shapes, out);
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
  void SetShapes(std::span<const Shape> shapes, OutputColumn& out) const {
    int64_t start = 0;
    out.row_starts.Push(start);
    for (const Shape& shape : shapes) {
      for (const int64_t dim : shape) out.row_shapes.Push(dim);
      start += NumItems(shape);
      out.row_starts.Push(start);
    }
    if (side_ > 0) out.shape[0] = out.shape[1] = kUnknownDim;
    out.shape[2] = kUnknownDim;
  }

  const ImageSize fixed_;  // unless side_ is given
  const bool longer_;
  const int64_t side_;
  const ResizeMethod method_;
};

struct ResizeOperator : DropsUnneeded {
  using Options = ResizeStep;
  static constexpr std::string_view kName = "resize";
  static constexpr Description kDescription = {
      .summary =
          "Resizes uint8 images [h, w, c] to [height, width, c], or by the "
          "length of one side.",
      .yaml = "resize: {height: 224, width: 224}",
      .element =
          "the component becomes uint8 [224, 224, channels]; [?, ?, channels] "
          "with `shorter` or `longer`",
      .errors =
          "Reading raises InvalidArgumentError if the component is no such "
          "image.",
      .example = R"(
>>> ds = fm.Dataset.images("photos/*/*.jpg").decode_image().resize(height=8, width=4)
>>> next(ds.read())["image"].shape
(8, 4, 3)
>>> ds = fm.Dataset.images("photos/*/*.jpg").decode_image().resize(shorter=8)
>>> min(next(ds.read())["image"].shape[:2])
8
)"};

  static FieldList Fields(ResizeStep& s) {
    return {
        {"component", ComponentName{&s.component}, Field::kOptional,
         "The component that holds the image."},
        {"height", &s.height, Field::kSparse | Field::kPositional,
         "Rows of pixels; with a width, and without shorter and longer.",
         "none"},
        {"width", &s.width, Field::kSparse | Field::kPositional,
         "Columns of pixels.", "none"},
        {"shorter", &s.shorter, Field::kSparse,
         "Pixels of the shorter side; the other one keeps the ratio.", "none"},
        {"longer", &s.longer, Field::kSparse,
         "Pixels of the longer side; the other one keeps the ratio.", "none"},
        {"method", Word(s.method, {"bilinear", "nearest"}), Field::kOptional,
         "How pixels are interpolated."},
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
    if (s.shorter == 0 && s.longer == 0) {
      return fmt::format("{} to {} x {}", s.component, s.height, s.width);
    }
    return fmt::format("{} to {} {}", s.component,
                       s.shorter > 0 ? "shorter" : "longer",
                       std::max(s.shorter, s.longer));
  }
  static absl::StatusOr<ElementSpec> Output(const ResizeStep& s,
                                            const StepInput& in) {
    FM_RETURN_IF_ERROR(CheckSides(s));
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
    const bool fixed = s.shorter == 0 && s.longer == 0;
    shape[in.batches] = fixed ? s.height : kUnknownDim;
    shape[in.batches + 1] = fixed ? s.width : kUnknownDim;
    return out;
  }
  static absl::Status CheckSides(const ResizeStep& s) {
    const bool fixed = s.height != 0 || s.width != 0;
    if (int{fixed} + int{s.shorter != 0} + int{s.longer != 0} != 1) {
      return InvalidArgument(
          "it needs height and width, or shorter, or longer");
    }
    const int64_t other = s.shorter != 0 ? s.shorter : s.longer;
    for (const int64_t side :
         {fixed ? s.height : other, fixed ? s.width : other}) {
      if (side < 1 || side > kImageSideMax) {
        return InvalidArgument("sides must be 1 to {}, not {}", kImageSideMax,
                               side);
      }
    }
    return absl::OkStatus();
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
