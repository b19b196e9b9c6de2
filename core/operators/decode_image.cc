#include <algorithm>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/dataset/type_inference.h"
#include "core/operators/step_kind_of.h"
#include "core/operators/type_checks.h"
#include "core/ops/image.h"
#include "core/pipeline/record_instruction.h"

namespace feedmill {
namespace {

// Sets the shapes of adjacent images of these sizes in `out`.
void SetImageShapes(std::span<const ImageSize> sizes, int64_t channels,
                    OutputColumn& out) {
  const bool same =
      std::all_of(sizes.begin(), sizes.end(),
                  [&](const ImageSize& size) { return size == sizes.front(); });
  if (sizes.empty()) return;
  out.shape = {sizes[0].height, sizes[0].width, channels};
  if (same) return;
  int64_t start = 0;
  out.row_starts.Push(start);
  for (const ImageSize& size : sizes) {
    for (const int64_t dim : {size.height, size.width, channels}) {
      out.row_shapes.Push(dim);
    }
    start += size.height * size.width * channels;
    out.row_starts.Push(start);
    if (size.height != sizes[0].height) out.shape[0] = kUnknownDim;
    if (size.width != sizes[0].width) out.shape[1] = kUnknownDim;
  }
}

class DecodeImages final : public RecordInstruction {
 public:
  DecodeImages(const DecodeImageStep& written, size_t batches, ValueId in,
               ValueId out)
      : RecordInstruction(batches, in, {out}),
        options_{.channels = written.channels,
                 .fast_dct = written.dct == DecodeImageStep::Dct::kFast,
                 .fail_on_warning =
                     written.on_warning == DecodeImageStep::OnWarning::kFail,
                 .pad_truncated =
                     written.truncated == DecodeImageStep::Truncated::kPad,
                 .apply_exif_orientation = written.apply_exif_orientation,
                 .sample_bytes =
                     written.dtype == DecodeImageStep::Dtype::kUInt8 ? 1 : 2} {
    makes_boxes = batches == 0;
  }

 protected:
  absl::Status Compute(const Records& records, BlockState& state,
                       size_t& failed) const override {
    if (!state.decoder) state.decoder.emplace();
    OutputColumn& out = state.registers[registers[0]].storage;
    out.needed = PixelsReadBy(reader, state);
    out.Reset(options_.sample_bytes == 1 ? DType::kUInt8 : DType::kUInt16,
              {kUnknownDim, kUnknownDim, options_.channels});
    std::vector<ImageSize> sizes;
    sizes.reserve(records.count());
    for (size_t k = 0; k < records.count(); ++k) {
      failed = k;
      const std::string_view file =
          records.column().BytesAt(static_cast<int64_t>(k));
      FM_ASSIGN_OR_RETURN(const ImageSize size,
                          state.decoder->ReadSize(file, options_));
      const auto bytes = static_cast<size_t>(
          size.height * size.width * options_.channels * options_.sample_bytes);
      auto* const pixels = reinterpret_cast<uint8_t*>(out.values.Extend(bytes));
      DecodeOptions options = options_;
      if (out.needed) options.needed = out.needed(k, size);
      FM_RETURN_IF_ERROR(
          state.decoder->Decode(file, options, size, {pixels, bytes}));
      sizes.push_back(size);
    }
    SetImageShapes(sizes, options_.channels, out);
    return SetOutput(0, records, out.View(), state, failed);
  }

 private:
  const DecodeOptions options_;
};

struct DecodeImageOperator : DropsUnneeded {
  using Options = DecodeImageStep;
  static constexpr std::string_view kName = "decode_image";
  static constexpr Description kDescription = {
      .summary =
          "Decodes images (JPEG, PNG, WebP, GIF, BMP, PNM, TIFF, HEIF, AVIF) "
          "to "
          "uint8 or uint16 [height, width, channels].",
      .yaml = R"(decode_image:
decode_image: {component: image, channels: 1}
decode_image: {component: depth, channels: 1, dtype: uint16}
decode_image: {apply_exif_orientation: true})",
      .element = "the component becomes uint8 or uint16 [?, ?, channels]",
      .details = "The first image of an animation is decoded.",
      .errors =
          "Reading raises DataLossError for bytes that are no such image.",
      .example = R"(
>>> ds = fm.Dataset.images("photos/*/*.jpg").decode_image(channels=1)
>>> ds.element_spec["image"]
ComponentSpec(dtype='uint8', shape=(None, None, 1))
)"};

  static FieldList Fields(DecodeImageStep& s) {
    return {
        {"component", ComponentName{&s.component}, Field::kOptional,
         "The component that holds the encoded image."},
        {"channels", &s.channels, Field::kOptional,
         "3 for colour, 1 for grey, 4 for colour and alpha."},
        {"dct", Word(s.dct, {"accurate", "fast"}), Field::kOptional,
         "How JPEGs are decoded; fast differs by one step of brightness."},
        {"on_warning", Word(s.on_warning, {"accept", "fail"}), Field::kSparse,
         "Images that the codec warns of: decoded and counted, or errors."},
        {"truncated", Word(s.truncated, {"fail", "pad"}), Field::kSparse,
         "Truncated JPEGs: errors, or decoded as far as possible."},
        {"apply_exif_orientation", &s.apply_exif_orientation, Field::kSparse,
         "Whether images are turned and flipped as EXIF data says."},
        {"dtype", Word(s.dtype, {"uint8", "uint16"}), Field::kSparse,
         "The type of samples; uint16 keeps 16 bits of PNG and PNM files."}};
  }
  static StepTraits Traits(const DecodeImageStep& s) {
    return {.needs = StepNeeds::kElement,
            .heavy = true,
            .on_records = true,
            .changes = s.component};
  }
  static std::string Describe(const DecodeImageStep& s) { return s.component; }
  static absl::StatusOr<ElementSpec> Output(const DecodeImageStep& s,
                                            const StepInput& in) {
    if (s.channels != 1 && s.channels != 3 && s.channels != 4) {
      return InvalidArgument(
          "channels must be 3 (colour), 1 (grey) or 4 (with alpha), not {}",
          s.channels);
    }
    FM_ASSIGN_OR_RETURN(const size_t c, FindComponent(in.spec, s.component));
    const ComponentSpec& image = in.spec.components[c];
    if (image.dtype != DType::kBytes || image.shape.size() != in.batches) {
      return InvalidArgument(
          "it needs one encoded image for each record; "
          "{} is {}",
          NameOrX(image), TypeText(image));
    }
    ElementSpec out = in.spec;
    out.components[c].dtype = s.dtype == DecodeImageStep::Dtype::kUInt8
                                  ? DType::kUInt8
                                  : DType::kUInt16;
    Shape& shape = out.components[c].shape;
    shape.insert(shape.end(), {kUnknownDim, kUnknownDim, s.channels});
    return out;
  }
  static absl::Status Compile(const DecodeImageStep& s,
                              ProgramBuilder& program) {
    const auto c = program.Touch(s.component);
    if (!c) return absl::OkStatus();
    ValueId& image = program.components()[*c];
    const ValueId in = std::exchange(image, program.NewValue());
    program.Emit(
        std::make_unique<DecodeImages>(s, program.batches(), in, image));
    program.SetHeavy();
    return absl::OkStatus();
  }
};

}  // namespace

const StepKind& DecodeImageKind() { return KindOf<DecodeImageOperator>(); }

}  // namespace feedmill
