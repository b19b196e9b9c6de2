#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/ops/function_families.h"
#include "core/ops/image_shapes.h"
#include "core/ops/row_items.h"

// Functions that combine the elements of a batch, for MixUp and CutMix.

namespace feedmill {
namespace {

using Dims = std::span<const int64_t>;

// ---- roll

constexpr std::string_view kRoll = "roll";

absl::StatusOr<ValueType> InferRoll(const std::vector<ValueType>& given) {
  if (given.size() != 2) {
    return InvalidArgument("{} takes an array and how far, not {} arguments",
                           kRoll, given.size());
  }
  if (given[0].dtype == DType::kBytes || given[0].shape.empty()) {
    return InvalidArgument("{} takes an array of numbers, not {}{}", kRoll,
                           DTypeName(given[0].dtype),
                           ShapeToString(given[0].shape));
  }
  FM_RETURN_IF_ERROR(CheckIsInteger("roll: how far", given[1]));
  ValueType result;
  result.dtype = given[0].dtype;
  result.shape = given[0].shape;
  return result;
}

// NumPy's roll along the first axis.
absl::Status ComputeRoll(std::span<const Argument> arguments, size_t rows,
                         const ValueType& type, OutputColumn& out) {
  const auto items = CopyRowShapes(arguments[0], rows, type, out);
  const Column& from = *arguments[0].column;
  const size_t size = ItemSize(from.dtype);
  std::byte* to = out.values.Extend(static_cast<size_t>(items) * size);
  const std::vector<int64_t> shifts = IntegersOf(arguments[1], rows);
  for (size_t row = 0; row < rows; ++row) {
    const size_t from_row = RowOf(arguments[0], row);
    const size_t bytes = static_cast<size_t>(from.RowItems(from_row)) * size;
    if (bytes == 0) continue;
    const int64_t length = from.RowDims(from_row)[0];
    const int64_t shift =
        (shifts[arguments[1].constant ? 0 : row] % length + length) % length;
    const std::byte* const begin =
        from.values.data() +
        static_cast<size_t>(from.RowStart(from_row)) * size;
    const size_t head =
        bytes / static_cast<size_t>(length) * static_cast<size_t>(shift);
    std::memcpy(to, begin + (bytes - head), head);
    std::memcpy(to + head, begin, bytes - head);
    to += bytes;
  }
  return absl::OkStatus();
}

// ---- CutMix

constexpr std::string_view kCutMix = "image.cutmix";
constexpr std::string_view kCutMixShare = "image.cutmix_share";

// Returns the box of torchvision's CutMix: one of the share 1 - lambda around
// the place (y, x), which counts in heights and widths, cut at the edges.
ImageBox CutMixBox(double lambda, double x, double y, ImageSize image) {
  const double half = 0.5 * std::sqrt(1.0 - lambda);
  const auto range = [half](double place, int64_t length) {
    const auto reach = static_cast<int64_t>(half * static_cast<double>(length));
    const auto centre = std::clamp<int64_t>(
        static_cast<int64_t>(place * static_cast<double>(length)), 0,
        std::max<int64_t>(length - 1, 0));
    return std::array{std::max<int64_t>(centre - reach, 0),
                      std::min(centre + reach, length)};
  };
  const auto [top, bottom] = range(y, image.height);
  const auto [left, right] = range(x, image.width);
  return {top, left, {bottom - top, right - left}};
}

// The box of a row by its numbers: lambda, x and y, each from 0 to 1.
absl::StatusOr<ImageBox> CutMixBoxOf(std::string_view function,
                                     std::span<const Argument> arguments,
                                     size_t row, ImageSize image) {
  std::array<double, 3> numbers{};
  for (size_t k = 0; k < numbers.size(); ++k) {
    numbers[k] = NumberAt<double>(arguments[k + 1], row);
    if (numbers[k] >= 0 && numbers[k] <= 1) continue;
    return DataLoss("{}: lambda, x and y are from 0 to 1, not {}", function,
                    numbers[k]);
  }
  return CutMixBox(numbers[0], numbers[1], numbers[2], image);
}

// Checks f(images, lambda, x, y), and returns the type of the images.
absl::StatusOr<ValueType> InferImages(std::string_view function,
                                      const std::vector<ValueType>& given) {
  if (given.size() != 4) {
    return InvalidArgument(
        "{} takes a batch of images, lambda, x and y, not {} arguments",
        function, given.size());
  }
  if (given[0].dtype == DType::kBytes || given[0].shape.size() < 4) {
    return InvalidArgument(
        "{} takes a batch of images, [n, height, width, channels], not {}{}",
        function, DTypeName(given[0].dtype), ShapeToString(given[0].shape));
  }
  for (size_t k = 1; k < given.size(); ++k) {
    if (given[k].dtype != DType::kBytes && given[k].shape.empty()) continue;
    return InvalidArgument("{}: lambda, x and y are numbers, not {}{}",
                           function, DTypeName(given[k].dtype),
                           ShapeToString(given[k].shape));
  }
  ValueType result;
  result.dtype = given[0].dtype;
  result.shape = given[0].shape;
  return result;
}

absl::StatusOr<ValueType> InferCutMix(const std::vector<ValueType>& given) {
  return InferImages(kCutMix, given);
}

absl::StatusOr<ValueType> InferCutMixShare(
    const std::vector<ValueType>& given) {
  FM_RETURN_IF_ERROR(InferImages(kCutMixShare, given).status());
  ValueType result;
  result.dtype = DType::kFloat64;
  return result;
}

// Writes the box of each image of a row from the image before it, and from the
// last image into the first.
void PasteFromNeighbours(const std::byte* from, Dims dims, const ImageBox& box,
                         size_t item, std::byte* to) {
  const RowImages images(dims);
  const auto row_bytes =
      static_cast<size_t>(images.size.width * images.channels) * item;
  const size_t image_bytes =
      row_bytes * static_cast<size_t>(images.size.height);
  const size_t left = static_cast<size_t>(box.left * images.channels) * item;
  const size_t bytes =
      static_cast<size_t>(box.size.width * images.channels) * item;
  const auto count = static_cast<size_t>(images.count);
  for (size_t k = 0; k < count; ++k) {
    const size_t source = (k + count - 1) % count * image_bytes + left;
    const size_t target = k * image_bytes + left;
    for (int64_t y = box.top; y < box.top + box.size.height; ++y) {
      const size_t line = static_cast<size_t>(y) * row_bytes;
      std::memcpy(to + target + line, from + source + line, bytes);
    }
  }
}

absl::Status ComputeCutMix(std::span<const Argument> arguments, size_t rows,
                           const ValueType& type, OutputColumn& out) {
  const auto items = CopyRowShapes(arguments[0], rows, type, out);
  const Column& from = *arguments[0].column;
  const size_t size = ItemSize(from.dtype);
  std::byte* to = out.values.Extend(static_cast<size_t>(items) * size);
  for (size_t row = 0; row < rows; ++row) {
    const size_t from_row = RowOf(arguments[0], row);
    const size_t bytes = static_cast<size_t>(from.RowItems(from_row)) * size;
    if (bytes == 0) continue;
    const Dims dims = from.RowDims(from_row);
    const absl::StatusOr<ImageBox> box =
        CutMixBoxOf(kCutMix, arguments, row, RowImages(dims).size);
    if (!box.ok()) {
      out.failed_row = row;
      return box.status();
    }
    const std::byte* const begin =
        from.values.data() +
        static_cast<size_t>(from.RowStart(from_row)) * size;
    std::memcpy(to, begin, bytes);
    PasteFromNeighbours(begin, dims, *box, size, to);
    to += bytes;
  }
  return absl::OkStatus();
}

absl::Status ComputeCutMixShare(std::span<const Argument> arguments,
                                size_t rows, const ValueType& type,
                                OutputColumn& out) {
  StartRows(type, false, out);
  const Column& from = *arguments[0].column;
  for (size_t row = 0; row < rows; ++row) {
    const ImageSize image =
        RowImages(from.RowDims(RowOf(arguments[0], row))).size;
    const absl::StatusOr<ImageBox> box =
        CutMixBoxOf(kCutMixShare, arguments, row, image);
    if (!box.ok()) {
      out.failed_row = row;
      return box.status();
    }
    const int64_t pixels = std::max<int64_t>(image.height * image.width, 1);
    out.values.Push(1.0 -
                    static_cast<double>(box->size.height * box->size.width) /
                        static_cast<double>(pixels));
  }
  return absl::OkStatus();
}

}  // namespace

void AddMixingFunctions(FunctionRegistry& registry) {
  registry.Add(std::string(kRoll), {InferRoll, ComputeRoll});
  registry.Add(std::string(kCutMix), {InferCutMix, ComputeCutMix});
  registry.Add(std::string(kCutMixShare),
               {InferCutMixShare, ComputeCutMixShare});
  registry.Describe({{"roll"},
                     "`roll(a, k)`",
                     "NumPy's roll along the first axis: item i moves to "
                     "i + k, and the last ones to the front"});
  registry.Describe(
      {{"image.cutmix", "image.cutmix_share"},
       "`image.cutmix(x, l, u, v)` `image.cutmix_share(x, l, u, v)`",
       "torchvision's CutMix of a batch [n, h, w, c]: a box of the share 1 − l "
       "around the place (u, v) comes from the image before; l, u and v are "
       "from 0 to 1. The share s (float64) is the part of an image outside of "
       "the box, for its label: s · y + (1 − s) · roll(y, 1)"});
}

}  // namespace feedmill
