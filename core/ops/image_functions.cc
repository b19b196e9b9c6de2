#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/ops/convert_items.h"
#include "core/ops/function_families.h"
#include "core/ops/image_shapes.h"
#include "core/ops/promotion.h"
#include "core/ops/row_items.h"
#include "core/ops/strided_view.h"

namespace feedmill {
namespace {

using Types = std::span<const ValueType* const>;
using Dims = std::span<const int64_t>;

// ---- crops

absl::Status CropAxis(std::string_view function, size_t axis, int64_t begin,
                      int64_t size, StridedView& view) {
  const int64_t dim = view.dims[axis];
  const bool beyond = dim != kUnknownDim && size > dim - begin;
  if (begin < 0 || size < 1 || beyond) {
    return InvalidArgument(
        "{}: {} pixels from {} on are not within the image's {}", function,
        size, begin, dim);
  }
  view.Narrow(axis, begin, size);
  return absl::OkStatus();
}

absl::StatusOr<StridedView> Crop(Types types, Dims dims) {
  constexpr std::string_view kName = "image.crop";
  FM_RETURN_IF_ERROR(ExpectArguments(kName, types.size(), 5));
  FM_ASSIGN_OR_RETURN(const size_t height, HeightAxis(kName, dims));
  std::array<int64_t, 4> box{};
  constexpr const char* kWhat[] = {"the top", "the left edge", "the height",
                                   "the width"};
  for (size_t k = 0; k < box.size(); ++k) {
    FM_ASSIGN_OR_RETURN(
        box[k],
        ConstantInteger(fmt::format("{}: {}", kName, kWhat[k]), *types[k + 1]));
  }
  StridedView view = StridedView::Whole(dims);
  FM_RETURN_IF_ERROR(CropAxis(kName, height, box[0], box[2], view));
  FM_RETURN_IF_ERROR(CropAxis(kName, height + 1, box[1], box[3], view));
  return view;
}

// The box of a crop by constants: its top, left edge, height and width.
std::optional<ImageBox> CropBox(std::span<const Argument> arguments, size_t,
                                ImageSize image) {
  std::array<int64_t, 4> box{};
  for (size_t k = 0; k < box.size(); ++k) {
    const auto value = ConstantInteger("", *arguments[k + 1].type);
    if (!value.ok()) return std::nullopt;
    box[k] = *value;
  }
  return Within({box[0], box[1], {box[2], box[3]}}, image);
}

absl::StatusOr<StridedView> CentralCrop(Types types, Dims dims) {
  constexpr std::string_view kName = "image.central_crop";
  FM_RETURN_IF_ERROR(ExpectArguments(kName, types.size(), 3));
  FM_ASSIGN_OR_RETURN(const size_t height, HeightAxis(kName, dims));
  StridedView view = StridedView::Whole(dims);
  for (const size_t k : {size_t{0}, size_t{1}}) {
    FM_ASSIGN_OR_RETURN(
        const int64_t size,
        ConstantInteger(
            fmt::format("{}: the {}", kName, k == 0 ? "height" : "width"),
            *types[k + 1]));
    const int64_t dim = dims[height + k];
    const bool smaller = dim != kUnknownDim && dim >= size;
    const int64_t begin = smaller ? (dim - size) / 2 : 0;
    FM_RETURN_IF_ERROR(CropAxis(kName, height + k, begin, size, view));
  }
  return view;
}

std::optional<ImageBox> CentralCropBox(std::span<const Argument> arguments,
                                       size_t, ImageSize image) {
  const auto height = ConstantInteger("", *arguments[1].type);
  const auto width = ConstantInteger("", *arguments[2].type);
  if (!height.ok() || !width.ok()) return std::nullopt;
  return Within({(image.height - *height) / 2,
                 (image.width - *width) / 2,
                 {*height, *width}},
                image);
}

// ---- pad

constexpr std::string_view kPad = "image.pad";

// The pixels to add: top, left, bottom, right.
absl::StatusOr<std::array<int64_t, 4>> MarginsOf(Types types) {
  std::array<int64_t, 4> margins{};
  constexpr const char* kWhat[] = {"top", "left", "bottom", "right"};
  for (size_t k = 0; k < margins.size(); ++k) {
    FM_ASSIGN_OR_RETURN(
        margins[k],
        ConstantInteger(fmt::format("{}: {}", kPad, kWhat[k]), *types[k + 1]));
    if (margins[k] >= 0 && margins[k] <= kImageSideMax) continue;
    return InvalidArgument("{}: {} pixels at the {}; 0 to {} can be added",
                           kPad, margins[k], kWhat[k], kImageSideMax);
  }
  return margins;
}

absl::StatusOr<ValueType> InferPad(const std::vector<ValueType>& given) {
  if (given.size() != 5 && given.size() != 6) {
    return InvalidArgument(
        "{} takes an image, the pixels to add at the top, left, bottom and "
        "right, and perhaps a value, not {} arguments",
        kPad, given.size());
  }
  std::vector<const ValueType*> types;
  for (const ValueType& type : given) types.push_back(&type);
  FM_ASSIGN_OR_RETURN(const auto margins, MarginsOf(types));
  FM_ASSIGN_OR_RETURN(const size_t height, HeightAxis(kPad, given[0].shape));
  if (given[0].dtype == DType::kBytes ||
      (given.size() > 5 && !ConstantOf(given[5]))) {
    return InvalidArgument("{} takes pixels and a number constant", kPad);
  }
  ValueType result;
  result.dtype = given[0].dtype;
  result.shape = given[0].shape;
  for (const size_t k : {size_t{0}, size_t{1}}) {
    int64_t& dim = result.shape[height + k];
    if (dim != kUnknownDim) dim += margins[k] + margins[k + 2];
  }
  return result;
}

absl::Status ComputePad(std::span<const Argument> arguments, size_t rows,
                        const ValueType& type, OutputColumn& out) {
  std::vector<const ValueType*> types;
  for (const Argument& argument : arguments) types.push_back(argument.type);
  FM_ASSIGN_OR_RETURN(const auto margins, MarginsOf(types));
  const auto [top, left, bottom, right] = margins;
  const Column& from = *arguments[0].column;
  const bool ragged = from.ragged() && HasUnknownDim(type.shape);
  StartRows(type, ragged, out);
  const double value = types.size() > 5 ? *ConstantOf(*types[5]) : 0;
  const size_t item = ItemSize(from.dtype);
  std::array<std::byte, 8> fill{};
  ConvertItems(DType::kFloat64, reinterpret_cast<const std::byte*>(&value),
               from.dtype, fill.data(), 1);
  const auto add = [&](int64_t items) {
    std::byte* to = out.values.Extend(static_cast<size_t>(items) * item);
    for (int64_t k = 0; k < items; ++k, to += item) {
      std::memcpy(to, fill.data(), item);
    }
  };
  for (size_t row = 0; row < rows; ++row) {
    const size_t from_row = RowOf(arguments[0], row);
    const auto given = from.RowDims(from_row);
    const RowImages images(given);
    const ImageSize size{images.size.height + top + bottom,
                         images.size.width + left + right};
    const int64_t line = images.size.width * images.channels;
    int64_t at = from.RowStart(from_row);
    for (int64_t n = 0; n < images.count; ++n) {
      add(top * size.width * images.channels);
      for (int64_t y = 0; y < images.size.height; ++y, at += line) {
        add(left * images.channels);
        AppendItems(from, at, line, out);
        add(right * images.channels);
      }
      add(bottom * size.width * images.channels);
    }
    EndImagesRow(given, size, ragged, row, out);
  }
  return absl::OkStatus();
}

// ---- flips and turns

template <size_t kAxis>  // 0 is the height, 1 the width
absl::StatusOr<StridedView> Flip(Types types, Dims dims) {
  constexpr std::string_view kName =
      kAxis == 0 ? "image.flip_up_down" : "image.flip_left_right";
  FM_RETURN_IF_ERROR(ExpectArguments(kName, types.size(), 1));
  FM_ASSIGN_OR_RETURN(const size_t height, HeightAxis(kName, dims));
  StridedView view = StridedView::Whole(dims);
  view.Reverse(height + kAxis);
  return view;
}

absl::StatusOr<StridedView> Rot90(Types types, Dims dims) {
  constexpr std::string_view kName = "image.rot90";
  FM_RETURN_IF_ERROR(ExpectArguments(kName, types.size(), 2));
  FM_ASSIGN_OR_RETURN(const size_t height, HeightAxis(kName, dims));
  FM_ASSIGN_OR_RETURN(
      const int64_t given,
      ConstantInteger("image.rot90: the number of turns", *types[1]));
  const int64_t turns = ((given % 4) + 4) % 4;
  StridedView view = StridedView::Whole(dims);
  if (turns == 1 || turns == 2) view.Reverse(height + 1);
  if (turns == 2 || turns == 3) view.Reverse(height);
  if (turns % 2 == 1) {
    std::swap(view.dims[height], view.dims[height + 1]);
    std::swap(view.strides[height], view.strides[height + 1]);
  }
  return view;
}

// Moves the channel axis before the height (to_chw), or back to the end.
template <bool kToChw>
absl::StatusOr<StridedView> MoveChannels(Types types, Dims dims) {
  constexpr std::string_view kName = kToChw ? "image.to_chw" : "image.to_hwc";
  FM_RETURN_IF_ERROR(ExpectArguments(kName, types.size(), 1));
  if (dims.size() < 3) {
    return InvalidArgument("{} takes images of 3 dimensions, not {}", kName,
                           dims.size());
  }
  std::vector<size_t> order;
  for (size_t axis = 0; axis < dims.size(); ++axis) order.push_back(axis);
  const auto first = order.end() - 3;
  std::rotate(first, kToChw ? order.end() - 1 : first + 1, order.end());
  StridedView view = StridedView::Whole(dims);
  view.Permute(order);
  return view;
}

// ---- normalize

constexpr std::string_view kNormalize = "image.normalize";

// Checks that `parameter` is one number, or one number for each channel.
absl::Status CheckParameter(Dims image, const ValueType& parameter) {
  if (parameter.dtype == DType::kBytes) {
    return InvalidArgument("{}: a mean or deviation must be numbers, not bytes",
                           kNormalize);
  }
  if (parameter.shape.empty()) return absl::OkStatus();
  const int64_t channels = image.back();
  const int64_t given = parameter.shape[0];
  const bool fits = given == 1 || given == channels ||
                    (given != kUnknownDim && channels == kUnknownDim);
  if (parameter.shape.size() == 1 && fits) return absl::OkStatus();
  return InvalidArgument(
      "{}: {} numbers for images of shape {}; give one, or one for each "
      "channel, the last axis",
      kNormalize, ShapeToString(parameter.shape),
      ShapeToString(Shape(image.begin(), image.end())));
}

// True for constants within [0, 1] that are not only zeros and ones.
bool AreFractions(const std::vector<double>& mean,
                  const std::vector<double>& deviation) {
  bool any = false;
  for (const auto* const values : {&mean, &deviation}) {
    for (const double value : *values) {
      if (!(value >= 0 && value <= 1)) return false;
      any = any || (value > 0 && value < 1);
    }
  }
  return any && !mean.empty() && !deviation.empty();
}

// Refuses constants for pixels of 0 to 1 where the pixels are integers.
absl::Status CheckScale(const std::vector<ValueType>& given) {
  if (!IsInteger(given[0].dtype)) return absl::OkStatus();
  const auto constants = [](const ValueType& type) {
    const auto number = ConstantOf(type);
    return number ? std::vector<double>(1, *number) : type.constants;
  };
  if (!AreFractions(constants(given[1]), constants(given[2]))) {
    return absl::OkStatus();
  }
  return InvalidArgument(
      "{}: the mean and the deviation are for pixels from 0 to 1, but the "
      "image is {}; scale it, as in {}(cast(image, float32) / 255, …), or "
      "leave "
      "out \"/ 255\" if its pixels are 0 and 1",
      kNormalize, DTypeName(given[0].dtype), kNormalize);
}

absl::StatusOr<ValueType> InferNormalize(const std::vector<ValueType>& given) {
  FM_RETURN_IF_ERROR(ExpectArguments(kNormalize, given.size(), 3));
  if (given[0].dtype == DType::kBytes || given[0].shape.empty()) {
    return InvalidArgument("{} takes images, [height, width, channels], not {}",
                           kNormalize, DTypeName(given[0].dtype));
  }
  for (const size_t k : {size_t{1}, size_t{2}}) {
    FM_RETURN_IF_ERROR(CheckParameter(given[0].shape, given[k]));
  }
  FM_RETURN_IF_ERROR(CheckScale(given));
  ValueType result;
  result.dtype = DType::kFloat32;
  result.shape = given[0].shape;
  return result;
}

// A parameter as floats, repeated so that the loop over it is long.
class Period {
 public:
  // Reads the parameter for rows of `channels` channels; false if their numbers
  // differ.
  bool Read(const Argument& argument, size_t row, size_t channels) {
    constexpr size_t kLength = 48;
    const Column& column = *argument.column;
    const size_t from = RowOf(argument, row);
    const auto count = static_cast<size_t>(column.RowItems(from));
    if (count != 1 && count != channels) return false;
    const size_t rounds = std::max<size_t>(1, kLength / channels);
    values_.resize(rounds * channels);
    const size_t start = static_cast<size_t>(column.RowStart(from));
    ConvertItems(column.dtype,
                 column.values.data() + start * ItemSize(column.dtype),
                 DType::kFloat32, values_.data(), count);
    for (size_t k = count; k < values_.size(); ++k) {
      values_[k] = values_[k - count];
    }
    return true;
  }
  const std::vector<float>& values() const { return values_; }

 private:
  std::vector<float> values_;
};

template <class T>
void NormalizeItems(std::span<const T> items, const std::vector<float>& means,
                    const std::vector<float>& deviations, float* to) {
  const size_t period = means.size();
  const float* mean = means.data();
  const float* deviation = deviations.data();
  for (size_t at = 0; at < items.size(); at += period) {
    const size_t count = std::min(period, items.size() - at);
    const T* from = items.data() + at;
    for (size_t k = 0; k < count; ++k) {
      to[at + k] = (static_cast<float>(from[k]) - mean[k]) / deviation[k];
    }
  }
}

// Does the same for three channels, and writes each of them to its own plane.
template <class T>
void NormalizeToPlanes(std::span<const T> items,
                       const std::vector<float>& means,
                       const std::vector<float>& deviations, float* to) {
  using Four = float __attribute__((vector_size(16)));
  constexpr size_t kTile = 48 * 16;  // a multiple of the period
  const size_t plane = items.size() / 3;
  std::array<float, kTile> tile;
  const auto load = [&](size_t at) {
    Four four;
    std::memcpy(&four, &tile[at], sizeof four);
    return four;
  };
  const auto store = [](const Four& four, float* where) {
    std::memcpy(where, &four, sizeof four);
  };
  for (size_t at = 0; at < items.size(); at += kTile) {
    const size_t count = std::min(kTile, items.size() - at);
    NormalizeItems<T>(items.subspan(at, count), means, deviations, tile.data());
    float* const first = to + at / 3;
    size_t k = 0;
    for (; k + 12 <= count; k += 12) {
      const Four a = load(k), b = load(k + 4), c = load(k + 8);
      float* const where = first + k / 3;
      const Four x = __builtin_shufflevector(a, b, 0, 3, 6, 6);
      const Four y = __builtin_shufflevector(a, b, 1, 4, 7, 7);
      const Four z = __builtin_shufflevector(a, b, 2, 5, 5, 5);
      store(__builtin_shufflevector(x, c, 0, 1, 2, 5), where);
      store(__builtin_shufflevector(y, c, 0, 1, 2, 6), where + plane);
      store(__builtin_shufflevector(z, c, 0, 1, 4, 7), where + 2 * plane);
    }
    for (; k < count; ++k) first[k % 3 * plane + k / 3] = tile[k];
  }
}

// Normalises row by row: write(items, means, deviations, target).
template <class Write>
absl::Status NormalizeRows(std::span<const Argument> arguments, size_t rows,
                           float* to, OutputColumn& out, const Write& write) {
  const Column& from = *arguments[0].column;
  Period mean;
  Period deviation;
  return VisitNumeric(from.dtype, [&](auto zero) -> absl::Status {
    using T = decltype(zero);
    for (size_t row = 0; row < rows; ++row) {
      const size_t from_row = RowOf(arguments[0], row);
      const std::span<const T> given = from.Items<T>(from_row);
      if (given.empty()) continue;
      const auto channels = static_cast<size_t>(from.RowDims(from_row).back());
      const bool again = row == 0 || from.ragged() || !arguments[1].constant ||
                         !arguments[2].constant;
      if (again && (!mean.Read(arguments[1], row, channels) ||
                    !deviation.Read(arguments[2], row, channels))) {
        out.failed_row = row;
        return DataLoss(
            "{}: it needs one number, or one for each of {} channels",
            kNormalize, channels);
      }
      write(given, mean.values(), deviation.values(), to);
      to += given.size();
    }
    return absl::OkStatus();
  });
}

absl::Status ComputeNormalize(std::span<const Argument> arguments, size_t rows,
                              const ValueType& type, OutputColumn& out) {
  const auto items = CopyRowShapes(arguments[0], rows, type, out);
  float* const to = reinterpret_cast<float*>(
      out.values.Extend(static_cast<size_t>(items) * sizeof(float)));
  return NormalizeRows(arguments, rows, to, out,
                       []<class T>(std::span<const T> given, const auto& mean,
                                   const auto& deviation, float* row) {
                         NormalizeItems<T>(given, mean, deviation, row);
                       });
}

// image.to_chw(image.normalize(…)) of images of one size with three channels.
absl::Status ComputeNormalizeToChw(std::span<const Argument> arguments,
                                   size_t rows, const ValueType& type,
                                   OutputColumn& out) {
  out.Reset(type.dtype, type.shape);
  const auto items = rows * static_cast<size_t>(NumItems(type.shape));
  float* const to =
      reinterpret_cast<float*>(out.values.Extend(items * sizeof(float)));
  return NormalizeRows(arguments, rows, to, out,
                       []<class T>(std::span<const T> given, const auto& mean,
                                   const auto& deviation, float* row) {
                         NormalizeToPlanes<T>(given, mean, deviation, row);
                       });
}

absl::StatusOr<ValueType> InferNormalizeToChw(
    const std::vector<ValueType>& given) {
  FM_ASSIGN_OR_RETURN(ValueType type, InferNormalize(given));
  const Shape& shape = type.shape;
  if (shape.size() != 3 || HasUnknownDim(shape) || shape[2] != 3) {
    return InvalidArgument("{} makes no planes at once", kNormalize);
  }
  type.shape = {shape[2], shape[0], shape[1]};
  return type;
}

}  // namespace

void AddImageFunctions(FunctionRegistry& registry) {
  registry.Add(std::string(kPad), {InferPad, ComputePad});
  registry.Describe(
      {{"image.pad"},
       "`image.pad(x, top, left, bottom, right)`, `(x, …, value)`",
       "adds pixels on each side, constants; their value is 0, or "
       "a number constant"});
  const auto move_pixels = [](FunctionRegistry::Function function) {
    function.moves_pixels = true;
    return function;
  };
  FunctionRegistry::Function crop = move_pixels(MakeViewFunction(Crop));
  crop.box = CropBox;
  registry.Add("image.crop", std::move(crop));
  FunctionRegistry::Function central =
      move_pixels(MakeViewFunction(CentralCrop));
  central.box = CentralCropBox;
  registry.Add("image.central_crop", std::move(central));
  registry.Add("image.flip_left_right", move_pixels(MakeViewFunction(Flip<1>)));
  registry.Add("image.flip_up_down", move_pixels(MakeViewFunction(Flip<0>)));
  registry.Add("image.rot90", MakeViewFunction(Rot90));
  FunctionRegistry::Function to_chw = MakeViewFunction(MoveChannels<true>);
  to_chw.to_chw = true;
  registry.Add("image.to_chw", std::move(to_chw));
  registry.Add("image.to_hwc", MakeViewFunction(MoveChannels<false>));
  FunctionRegistry::Function normalize{InferNormalize, ComputeNormalize};
  normalize.by_pixel = true;
  normalize.in_chw = std::make_shared<FunctionRegistry::Function>(
      FunctionRegistry::Function{InferNormalizeToChw, ComputeNormalizeToChw});
  registry.Add("image.normalize", std::move(normalize));
  registry.Describe({{"image.crop"},
                     "`image.crop(x, top, left, h, w)`",
                     "beyond the edge is an error, at building time where the "
                     "size is known"});
  registry.Describe(
      {{"image.central_crop"},
       "`image.central_crop(x, h, w)`",
       "if a margin is odd, its larger half is below and to the right"});
  registry.Describe(
      {{"image.flip_left_right", "image.flip_up_down", "image.rot90"},
       "`image.flip_left_right(x)` `image.flip_up_down(x)` `image.rot90(x, k)`",
       "NumPy's flip and rot90: k quarter turns counter-clockwise"});
  registry.Describe(
      {{"image.normalize"},
       "`image.normalize(x, mean, std)`",
       "(x − mean) / std in float32; numbers, or lists with one for each "
       "channel, the last axis. It does not scale: constants within [0, 1] for "
       "an image of integers are refused"});
  registry.Describe({{"image.to_chw", "image.to_hwc"},
                     "`image.to_chw(x)` `image.to_hwc(x)`",
                     "moves the channels"});
}

}  // namespace feedmill
