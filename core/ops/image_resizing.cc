#include "core/ops/image_resizing.h"

#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#include <string>

#include "core/base/status.h"
#include "core/ops/antialias_resizing.h"
#include "core/ops/function_families.h"
#include "core/ops/row_items.h"

namespace feedmill {
namespace {

// Returns OpenCV's depth of a dtype, or -1 if it does not resize this dtype.
int DepthOf(DType dtype) {
  switch (dtype) {
    case DType::kUInt8:
      return CV_8U;
    case DType::kUInt16:
      return CV_16U;
    case DType::kInt16:
      return CV_16S;
    case DType::kFloat32:
      return CV_32F;
    case DType::kFloat64:
      return CV_64F;
    default:
      return -1;
  }
}

absl::Status CheckImage(std::string_view function, ImageSize size,
                        int64_t channels) {
  if (size.height < 1 || size.width < 1 || size.height > kImageSideMax ||
      size.width > kImageSideMax ||
      size.height * size.width > kImagePixelsMax) {
    return InvalidArgument("{}: an image of {} by {} pixels", function,
                           size.height, size.width);
  }
  if (channels < 1 || channels > CV_CN_MAX) {
    return InvalidArgument("{}: {} channels are out of range, 1 to {}",
                           function, channels, CV_CN_MAX);
  }
  return absl::OkStatus();
}

constexpr std::string_view kResize = "image.resize";

// Reads the arguments from the method on: the method, perhaps 'antialias'.
absl::StatusOr<Resampling> ReadResampling(
    std::string_view function, DType dtype,
    std::span<const ValueType* const> types) {
  FM_ASSIGN_OR_RETURN(Resampling resampling, ResamplingOf(function, *types[0]));
  if (types.size() > 1) {
    FM_RETURN_IF_ERROR(AddAntialias(function, *types[1], dtype, resampling));
  }
  return resampling;
}

absl::StatusOr<ImageBox> WholeImage(size_t, const RowImages& images) {
  return ImageBox{0, 0, images.size};
}

absl::StatusOr<ValueType> InferResize(const std::vector<ValueType>& given) {
  if (given.size() != 4 && given.size() != 5) {
    return InvalidArgument(
        "{} takes an image, a height, a width, a method and perhaps "
        "'antialias', not {} arguments",
        kResize, given.size());
  }
  const auto types = TypesOf(given);
  FM_RETURN_IF_ERROR(
      ReadResampling(kResize, given[0].dtype, std::span(types).subspan(3))
          .status());
  return ResizedType(kResize, given[0], given[1], given[2]);
}

absl::Status ComputeResize(std::span<const Argument> arguments, size_t rows,
                           const ValueType& type, OutputColumn& out) {
  const auto types = TypesOf(arguments);
  FM_ASSIGN_OR_RETURN(
      const Resampling resampling,
      ReadResampling(kResize, type.dtype, std::span(types).subspan(3)));
  return ResizeRows(kResize, arguments[0], rows, type, resampling, WholeImage,
                    ConstantSize(type), out);
}

// ---- image.resize_shorter and image.resize_longer

// The length of one side, as torchvision's Resize takes it; the other side
// keeps the ratio.
struct SideRule {
  std::string_view function;
  bool longer = false;
  int64_t length = 0;
  int64_t most = 0;  // of the longer side; 0: any
  Resampling resampling{};

  ImageSize SizeFor(ImageSize image) const {
    return SizeBySide(image, longer, length, most);
  }
};

absl::Status CheckSide(std::string_view function, std::string_view what,
                       int64_t side, int64_t low) {
  if (side >= low && side <= kImageSideMax) return absl::OkStatus();
  return InvalidArgument("{}: {} of {} is out of range, {} to {}", function,
                         what, side, low, kImageSideMax);
}

absl::StatusOr<SideRule> SideRuleOf(bool longer,
                                    std::span<const ValueType* const> types) {
  SideRule rule{longer ? "image.resize_longer" : "image.resize_shorter",
                longer};
  size_t given = types.size();
  if (given < 3 || given > (longer ? 4U : 5U)) {
    return InvalidArgument(
        "{} takes an image, the length of the side, a method and perhaps "
        "'antialias'{}, not {} arguments",
        rule.function, longer ? "" : " and the most of the longer side", given);
  }
  FM_ASSIGN_OR_RETURN(
      rule.length,
      ConstantInteger(fmt::format("{}: the length", rule.function), *types[1]));
  FM_RETURN_IF_ERROR(CheckSide(rule.function, "a length", rule.length, 1));
  if (!longer && types.back()->dtype != DType::kBytes) {
    FM_ASSIGN_OR_RETURN(
        rule.most, ConstantInteger(fmt::format("{}: the most", rule.function),
                                   *types.back()));
    FM_RETURN_IF_ERROR(
        CheckSide(rule.function, "a most", rule.most, rule.length + 1));
    --given;
  }
  FM_ASSIGN_OR_RETURN(rule.resampling,
                      ReadResampling(rule.function, types[0]->dtype,
                                     types.first(given).subspan(2)));
  return rule;
}

absl::StatusOr<ValueType> InferResizeSide(bool longer,
                                          const std::vector<ValueType>& given) {
  FM_ASSIGN_OR_RETURN(const SideRule rule, SideRuleOf(longer, TypesOf(given)));
  // Checks the images, and that their dtype can be resized.
  FM_ASSIGN_OR_RETURN(ValueType result,
                      ResizedType(rule.function, given[0], given[1], given[1]));
  FM_ASSIGN_OR_RETURN(const size_t axis,
                      HeightAxis(rule.function, given[0].shape));
  const ImageSize image{given[0].shape[axis], given[0].shape[axis + 1]};
  const bool known = image.height != kUnknownDim && image.width != kUnknownDim;
  const ImageSize to =
      known ? rule.SizeFor(image) : ImageSize{kUnknownDim, kUnknownDim};
  result.shape[axis] = to.height;
  result.shape[axis + 1] = to.width;
  if (known) FM_RETURN_IF_ERROR(CheckImage(rule.function, to, 1));
  return result;
}

absl::Status ComputeResizeSide(bool longer, std::span<const Argument> arguments,
                               size_t rows, const ValueType& type,
                               OutputColumn& out) {
  FM_ASSIGN_OR_RETURN(const SideRule rule,
                      SideRuleOf(longer, TypesOf(arguments)));
  return ResizeRows(
      rule.function, arguments[0], rows, type, rule.resampling, WholeImage,
      [&](const RowImages& images) { return rule.SizeFor(images.size); }, out);
}

}  // namespace

absl::StatusOr<Resampling> ResamplingOf(std::string_view function,
                                        const ValueType& type) {
  FM_ASSIGN_OR_RETURN(
      const std::string method,
      ConstantText(fmt::format("{}: the method", function), type));
  if (method == "bilinear") return Resampling{cv::INTER_LINEAR};
  if (method == "nearest") return Resampling{cv::INTER_NEAREST};
  if (method == "area") return Resampling{cv::INTER_AREA};
  if (method == "cubic") return Resampling{cv::INTER_CUBIC};
  return InvalidArgument(
      "{}: the method '{}' is not one of 'bilinear', 'nearest', 'area' and "
      "'cubic'",
      function, method);
}

absl::Status AddAntialias(std::string_view function, const ValueType& word,
                          DType dtype, Resampling& resampling) {
  FM_ASSIGN_OR_RETURN(
      const std::string text,
      ConstantText(fmt::format("{}: 'antialias'", function), word));
  if (text != "antialias") {
    return InvalidArgument("{}: '{}' after the method is not 'antialias'",
                           function, text);
  }
  if (resampling.interpolation != cv::INTER_LINEAR &&
      resampling.interpolation != cv::INTER_CUBIC) {
    return InvalidArgument(
        "{}: 'antialias' is for the methods 'bilinear' and 'cubic'", function);
  }
  if (dtype != DType::kUInt8 && dtype != DType::kFloat32) {
    return InvalidArgument(
        "{}: 'antialias' of {} pixels; cast them to float32 or uint8", function,
        DTypeName(dtype));
  }
  resampling.antialias = true;
  return absl::OkStatus();
}

SizeOfRow ConstantSize(const ValueType& type) {
  const size_t axis = type.shape.size() == 2 ? 0 : type.shape.size() - 3;
  const ImageSize size{type.shape[axis], type.shape[axis + 1]};
  return [size](const RowImages&) { return size; };
}

absl::StatusOr<ValueType> ResizedType(std::string_view function,
                                      const ValueType& images,
                                      const ValueType& height,
                                      const ValueType& width) {
  FM_ASSIGN_OR_RETURN(const size_t axis, HeightAxis(function, images.shape));
  ImageSize to;
  FM_ASSIGN_OR_RETURN(
      to.height,
      ConstantInteger(fmt::format("{}: the height", function), height));
  FM_ASSIGN_OR_RETURN(
      to.width, ConstantInteger(fmt::format("{}: the width", function), width));
  const int64_t channels = images.shape.size() == 2 ? 1 : images.shape.back();
  FM_RETURN_IF_ERROR(
      CheckImage(function, to, channels == kUnknownDim ? 1 : channels));
  if (DepthOf(images.dtype) < 0) {
    return InvalidArgument(
        "{}: {} pixels; cast them to float32, or to uint8, uint16, int16 or "
        "float64",
        function, DTypeName(images.dtype));
  }
  ValueType result;
  result.dtype = images.dtype;
  result.shape = images.shape;
  result.shape[axis] = to.height;
  result.shape[axis + 1] = to.width;
  return result;
}

namespace {

// Resizes a box of each image of a row by OpenCV, or to the same bits.
absl::Status ResizeByOpenCv(std::string_view function, const std::byte* source,
                            const RowImages& images, const ImageBox& box,
                            DType dtype, int interpolation, std::byte* target,
                            ImageSize to) {
  // feedmill parallelises by its own threads; OpenCV's threads would compete.
  static const bool one_thread = (cv::setNumThreads(0), true);
  static_cast<void>(one_thread);
  const int type =
      CV_MAKETYPE(DepthOf(dtype), static_cast<int>(images.channels));
  const auto mat = [type](ImageSize size, std::byte* pixels) {
    return cv::Mat(static_cast<int>(size.height), static_cast<int>(size.width),
                   type, pixels);
  };
  const cv::Rect part(static_cast<int>(box.left), static_cast<int>(box.top),
                      static_cast<int>(box.size.width),
                      static_cast<int>(box.size.height));
  const bool is_rgb_bilinear =
      type == CV_8UC3 && interpolation == cv::INTER_LINEAR;
  for (int64_t k = 0; k < images.count; ++k) {
    const cv::Mat in = mat(images.size, const_cast<std::byte*>(source));
    cv::Mat out = mat(to, target);
    try {
      const cv::Mat box_in = in(part);
      if (!is_rgb_bilinear ||
          !ResizeRgbBilinear({box_in.data, in.dataend}, in.step, box.size,
                             out.data, to)) {
        cv::resize(box_in, out, out.size(), 0, 0, interpolation);
      }
    } catch (const cv::Exception& error) {
      return DataLoss("{}: {}", function, error.err);
    }
    source += in.total() * in.elemSize();
    target += out.total() * out.elemSize();
  }
  return absl::OkStatus();
}

template <class T>
void AntialiasBoxes(const std::byte* source, const RowImages& images,
                    const ImageBox& box, AntialiasTaps filter,
                    std::byte* target, ImageSize to) {
  const auto channels = static_cast<size_t>(images.channels);
  const size_t row = static_cast<size_t>(images.size.width) * channels;
  const size_t skipped = static_cast<size_t>(box.top) * row +
                         static_cast<size_t>(box.left) * channels;
  const size_t made = static_cast<size_t>(to.height * to.width) * channels;
  const auto* from = reinterpret_cast<const T*>(source);
  auto* out = reinterpret_cast<T*>(target);
  for (int64_t k = 0; k < images.count; ++k) {
    ResizeAntialias(from + skipped, row * sizeof(T), box.size, channels, filter,
                    out, to);
    from += static_cast<size_t>(images.size.height) * row;
    out += made;
  }
}

}  // namespace

absl::Status ResizeBoxes(std::string_view function, const std::byte* source,
                         const RowImages& images, const ImageBox& box,
                         DType dtype, Resampling resampling, std::byte* target,
                         ImageSize to) {
  FM_RETURN_IF_ERROR(CheckImage(function, images.size, images.channels));
  if (!resampling.antialias) {
    return ResizeByOpenCv(function, source, images, box, dtype,
                          resampling.interpolation, target, to);
  }
  const AntialiasTaps filter = resampling.interpolation == cv::INTER_LINEAR
                                   ? AntialiasTaps::kBilinear
                                   : AntialiasTaps::kCubic;
  if (dtype == DType::kUInt8) {
    AntialiasBoxes<uint8_t>(source, images, box, filter, target, to);
  } else {
    AntialiasBoxes<float>(source, images, box, filter, target, to);
  }
  return absl::OkStatus();
}

absl::Status ResizeRows(std::string_view function, const Argument& images,
                        size_t rows, const ValueType& type,
                        Resampling resampling, const BoxOfRow& box,
                        const SizeOfRow& size, OutputColumn& out) {
  const Column& from = *images.column;
  const bool ragged = from.ragged() && HasUnknownDim(type.shape);
  StartRows(type, ragged, out);
  const size_t item = ItemSize(type.dtype);
  const auto resize_row = [&](size_t row, size_t from_row,
                              const RowImages& in) -> absl::Status {
    FM_ASSIGN_OR_RETURN(const ImageBox part, box(row, in));
    const ImageSize to = size(in);
    FM_RETURN_IF_ERROR(CheckImage(function, to, 1));
    const int64_t items = in.count * to.height * to.width * in.channels;
    return ResizeBoxes(function,
                       from.values.data() +
                           static_cast<size_t>(from.RowStart(from_row)) * item,
                       in, part, type.dtype, resampling,
                       out.values.Extend(static_cast<size_t>(items) * item),
                       to);
  };
  for (size_t row = 0; row < rows; ++row) {
    const size_t from_row = RowOf(images, row);
    const auto given = from.RowDims(from_row);
    const RowImages in(given);
    const absl::Status status = resize_row(row, from_row, in);
    if (!status.ok()) {
      out.failed_row = row;
      return AsDataLoss(status);
    }
    EndImagesRow(given, size(in), ragged, row, out);
  }
  return absl::OkStatus();
}

void AddImageResizing(FunctionRegistry& registry) {
  registry.Add("image.resize", {InferResize, ComputeResize, /*heavy=*/true});
  for (const bool longer : {false, true}) {
    registry.Add(longer ? "image.resize_longer" : "image.resize_shorter",
                 {[longer](const std::vector<ValueType>& given) {
                    return InferResizeSide(longer, given);
                  },
                  [longer](std::span<const Argument> arguments, size_t rows,
                           const ValueType& type, OutputColumn& out) {
                    return ComputeResizeSide(longer, arguments, rows, type,
                                             out);
                  },
                  /*heavy=*/true});
  }
  registry.Describe(
      {{"image.resize"},
       "`image.resize(x, h, w, 'bilinear')`, `(x, h, w, 'bilinear', "
       "'antialias')`",
       "as OpenCV: 'bilinear', 'nearest', 'area' or 'cubic'; of "
       "uint8, uint16, int16, float32, float64, which stay. With 'antialias', "
       "'bilinear' or 'cubic' of uint8 or float32, as torchvision v2 with "
       "antialias=True"});
  registry.Describe(
      {{"image.resize_shorter", "image.resize_longer"},
       "`image.resize_shorter(x, n, 'bilinear')`, `(x, n, 'bilinear', "
       "'antialias')`, `(x, n, 'bilinear', 'antialias', most)`; "
       "`image.resize_longer(x, n, 'bilinear')`, `(x, n, 'bilinear', "
       "'antialias')`",
       "one side becomes n, and the other one keeps the ratio, rounded down; "
       "the longer side is at most `most`; as torchvision's Resize(n, "
       "max_size) and Resize(None, n)"});
}

}  // namespace feedmill
