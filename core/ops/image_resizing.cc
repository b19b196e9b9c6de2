#include "core/ops/image_resizing.h"

#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#include <string>

#include "core/base/status.h"
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

absl::StatusOr<ValueType> InferResize(const std::vector<ValueType>& given) {
  FM_RETURN_IF_ERROR(ExpectArguments(kResize, given.size(), 4));
  FM_RETURN_IF_ERROR(Interpolation(kResize, given[3]).status());
  return ResizedType(kResize, given[0], given[1], given[2]);
}

absl::Status ComputeResize(std::span<const Argument> arguments, size_t rows,
                           const ValueType& type, OutputColumn& out) {
  FM_ASSIGN_OR_RETURN(const int interpolation,
                      Interpolation(kResize, *arguments[3].type));
  return ResizeRows(
      kResize, arguments[0], rows, type, interpolation,
      [](size_t, const RowImages& images) -> absl::StatusOr<ImageBox> {
        return ImageBox{0, 0, images.size};
      },
      out);
}

}  // namespace

absl::StatusOr<int> Interpolation(std::string_view function,
                                  const ValueType& type) {
  FM_ASSIGN_OR_RETURN(
      const std::string method,
      ConstantText(fmt::format("{}: the method", function), type));
  if (method == "bilinear") return static_cast<int>(cv::INTER_LINEAR);
  if (method == "nearest") return static_cast<int>(cv::INTER_NEAREST);
  if (method == "area") return static_cast<int>(cv::INTER_AREA);
  if (method == "cubic") return static_cast<int>(cv::INTER_CUBIC);
  return InvalidArgument(
      "{}: the method '{}' is not one of 'bilinear', 'nearest', 'area' and "
      "'cubic'",
      function, method);
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

absl::Status ResizeBoxes(std::string_view function, const std::byte* source,
                         const RowImages& images, const ImageBox& box,
                         DType dtype, int interpolation, std::byte* target,
                         ImageSize to) {
  FM_RETURN_IF_ERROR(CheckImage(function, images.size, images.channels));
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

absl::Status ResizeRows(std::string_view function, const Argument& images,
                        size_t rows, const ValueType& type, int interpolation,
                        const BoxOfRow& box, OutputColumn& out) {
  const Column& from = *images.column;
  const bool ragged = from.ragged() && HasUnknownDim(type.shape);
  StartRows(type, ragged, out);
  const size_t axis = type.shape.size() == 2 ? 0 : type.shape.size() - 3;
  const ImageSize to{type.shape[axis], type.shape[axis + 1]};
  const size_t item = ItemSize(type.dtype);
  for (size_t row = 0; row < rows; ++row) {
    const size_t from_row = RowOf(images, row);
    const auto given = from.RowDims(from_row);
    const RowImages in(given);
    const auto items =
        static_cast<size_t>(in.count * to.height * to.width * in.channels);
    const absl::StatusOr<ImageBox> part = box(row, in);
    const absl::Status status =
        !part.ok()
            ? part.status()
            : ResizeBoxes(
                  function,
                  from.values.data() +
                      static_cast<size_t>(from.RowStart(from_row)) * item,
                  in, *part, type.dtype, interpolation,
                  out.values.Extend(items * item), to);
    if (!status.ok()) {
      out.failed_row = row;
      return AsDataLoss(status);
    }
    EndImagesRow(given, to, ragged, row, out);
  }
  return absl::OkStatus();
}

void AddImageResizing(FunctionRegistry& registry) {
  registry.Add("image.resize", {InferResize, ComputeResize, /*heavy=*/true});
  registry.Describe({{"image.resize"},
                     "`image.resize(x, h, w, 'bilinear')`",
                     "as OpenCV: 'bilinear', 'nearest', 'area' or 'cubic'; of "
                     "uint8, uint16, int16, float32, float64, which stay"});
}

}  // namespace feedmill
