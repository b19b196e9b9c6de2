#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/ops/function_families.h"
#include "core/ops/image.h"
#include "core/ops/row_items.h"

namespace feedmill {
namespace {

constexpr std::string_view kDecode = "image.decode";

absl::StatusOr<ImageSize> SizeToKeep(const ValueType& type) {
  FM_ASSIGN_OR_RETURN(const Shape sides,
                      ConstantIntegers("image.decode: the least size", type));
  if (sides.size() != 2) {
    return InvalidArgument("{}: the least size is [height, width]", kDecode);
  }
  for (const int64_t side : sides) {
    if (side >= 2 && side <= kImageSideMax) continue;
    return InvalidArgument("{}: a side of {} is out of range, 2 to {}", kDecode,
                           side, kImageSideMax);
  }
  return ImageSize{sides[0], sides[1]};
}

absl::Status SetOption(const ValueType& type, DecodeOptions& options) {
  FM_ASSIGN_OR_RETURN(const std::string word,
                      ConstantText("image.decode: an option", type));
  if (word == "accurate" || word == "fast") {
    options.fast_dct = word == "fast";
  } else if (word == "uint8" || word == "uint16") {
    options.sample_bytes = word == "uint8" ? 1 : 2;
  } else if (word == "apply_exif_orientation") {
    options.apply_exif_orientation = true;
  } else {
    return InvalidArgument(
        "{}: no option is called '{}'; there are 'accurate', 'fast', 'uint8', "
        "'uint16' and 'apply_exif_orientation'",
        kDecode, word);
  }
  return absl::OkStatus();
}

// Returns the options from the arguments after the first, which are constants.
absl::StatusOr<DecodeOptions> OptionsOf(
    std::span<const ValueType* const> types) {
  DecodeOptions options;
  if (types.size() > 1) {
    FM_ASSIGN_OR_RETURN(
        options.channels,
        ConstantInteger("image.decode: the number of channels", *types[1]));
    if (options.channels != 1 && options.channels != 3 &&
        options.channels != 4) {
      return InvalidArgument(
          "{}: 3 (colour), 1 (grey) or 4 (with alpha) channels, not {}",
          kDecode, options.channels);
    }
  }
  for (size_t k = 2; k < types.size(); ++k) {
    if (types[k]->dtype == DType::kBytes) {
      FM_RETURN_IF_ERROR(SetOption(*types[k], options));
    } else {
      FM_ASSIGN_OR_RETURN(options.at_least, SizeToKeep(*types[k]));
    }
  }
  return options;
}

absl::StatusOr<ValueType> InferDecode(const std::vector<ValueType>& given) {
  if (given.empty()) {
    return InvalidArgument(
        "{} takes the bytes of an image, and perhaps the number of channels, "
        "options and the least size, not 0 arguments",
        kDecode);
  }
  if (given[0].dtype != DType::kBytes || !given[0].shape.empty()) {
    return InvalidArgument("{} takes the bytes of one image a row, not {}{}",
                           kDecode, DTypeName(given[0].dtype),
                           ShapeToString(given[0].shape));
  }
  std::vector<const ValueType*> types;
  for (const ValueType& type : given) types.push_back(&type);
  FM_ASSIGN_OR_RETURN(const DecodeOptions options, OptionsOf(types));
  ValueType result;
  result.dtype = options.sample_bytes == 1 ? DType::kUInt8 : DType::kUInt16;
  result.shape = {kUnknownDim, kUnknownDim, options.channels};
  return result;
}

absl::Status DecodeRow(std::string_view file, DecodeOptions options, size_t row,
                       ImageDecoder& decoder, OutputColumn& out) {
  FM_ASSIGN_OR_RETURN(const ImageSize size, decoder.ReadSize(file, options));
  if (out.needed) options.needed = out.needed(row, size);
  const auto bytes = static_cast<size_t>(
      size.height * size.width * options.channels * options.sample_bytes);
  auto* const pixels = reinterpret_cast<uint8_t*>(out.values.Extend(bytes));
  FM_RETURN_IF_ERROR(decoder.Decode(file, options, size, {pixels, bytes}));
  const int64_t dims[] = {size.height, size.width, options.channels};
  EndRaggedRow(dims, out);
  return absl::OkStatus();
}

absl::Status ComputeDecode(std::span<const Argument> arguments, size_t rows,
                           const ValueType& type, OutputColumn& out) {
  std::vector<const ValueType*> types;
  for (const Argument& argument : arguments) types.push_back(argument.type);
  FM_ASSIGN_OR_RETURN(const DecodeOptions options, OptionsOf(types));
  thread_local ImageDecoder decoder;
  StartRows(type, /*ragged=*/true, out);
  const Column& from = *arguments[0].column;
  for (size_t row = 0; row < rows; ++row) {
    const std::string_view file =
        from.BytesAt(from.RowStart(RowOf(arguments[0], row)));
    absl::Status status = DecodeRow(file, options, row, decoder, out);
    if (status.ok()) continue;
    out.failed_row = row;
    return Annotate(status, std::string(kDecode));
  }
  return absl::OkStatus();
}

}  // namespace

void AddImageDecoding(FunctionRegistry& registry) {
  FunctionRegistry::Function decode{InferDecode, ComputeDecode, /*heavy=*/true};
  decode.makes_boxes = true;
  registry.Add(std::string(kDecode), std::move(decode));
  registry.Describe(
      {{"image.decode"},
       "`image.decode(x)`, `(x, 3)`, `(x, 3, 'accurate')`, `(x, 3, 'accurate', "
       "[h, w])`, `(x, 1, 'uint16')`",
       "JPEG, PNG, WebP, GIF, BMP, PNM, TIFF, HEIF or AVIF, of the bytes of "
       "one "
       "image, to uint8 "
       "[?, ?, channels]; 3 channels, 1, or 4 with alpha. Options: the DCT of "
       "JPEG, 'accurate' or 'fast'; 'uint16' for samples of 16 bits; "
       "'apply_exif_orientation'; all as in `decode_image`. With [h, w], sides "
       "of 2 or more, JPEG is decoded to 1/8, 1/4 or "
       "1/2 of its size (rounded up): the first of them for which the whole is "
       "at least 8, 4 or 2 times as high as h and as wide as w. As Pillow's "
       "`draft`; it saves time where the next step is `image.resize(…, h, w, "
       "…)`"});
}

}  // namespace feedmill
