#include <algorithm>
#include <array>
#include <cmath>
#include <opencv2/imgproc.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/ops/function_families.h"
#include "core/ops/image_resizing.h"
#include "core/ops/image_shapes.h"
#include "core/ops/promotion.h"
#include "core/ops/random_bits.h"
#include "core/ops/row_items.h"

// Random boxes of images for each row. docs/semantics/random.md has the
// formulas.

namespace feedmill {
namespace {

// ---- random_crop

constexpr std::string_view kCrop = "image.random_crop";

absl::StatusOr<ValueType> InferCrop(const std::vector<ValueType>& given) {
  FM_RETURN_IF_ERROR(ExpectArguments(kCrop, given.size() - 1, 3));
  FM_ASSIGN_OR_RETURN(const size_t axis, HeightAxis(kCrop, given[1].shape));
  ValueType result;
  result.dtype = given[1].dtype;
  result.shape = given[1].shape;
  for (const size_t k : {size_t{0}, size_t{1}}) {
    const std::string_view what = k == 0 ? "height" : "width";
    FM_ASSIGN_OR_RETURN(
        const int64_t size,
        ConstantInteger(fmt::format("{}: the {}", kCrop, what), given[2 + k]));
    int64_t& dim = result.shape[axis + k];
    if (size < 1 || (dim != kUnknownDim && size > dim)) {
      return InvalidArgument("{}: a {} of {} is not within {}", kCrop, what,
                             size,
                             dim == kUnknownDim ? "any" : std::to_string(dim));
    }
    dim = size;
  }
  return result;
}

// Appends `box` of every image of a row of `from`.
void AppendBox(const Column& from, size_t row, const RowImages& images,
               const ImageBox& box, OutputColumn& out) {
  const int64_t start = from.RowStart(row);
  const int64_t line = images.size.width * images.channels;
  for (int64_t n = 0; n < images.count; ++n) {
    for (int64_t y = 0; y < box.size.height; ++y) {
      const int64_t above = n * images.size.height + box.top + y;
      AppendItems(from, start + above * line + box.left * images.channels,
                  box.size.width * images.channels, out);
    }
  }
}

// Returns a box of that size anywhere in a larger image.
ImageBox DrawPlace(const RandomBits& bits, ImageSize size, ImageSize image) {
  const auto place = [](uint64_t random, int64_t room) {
    return static_cast<int64_t>(
        BelowRange(random, static_cast<uint64_t>(room) + 1));
  };
  return {place(bits.First(), image.height - size.height),
          place(bits.Second(), image.width - size.width), size};
}

bool IsWithin(ImageSize size, ImageSize image) {
  return size.height <= image.height && size.width <= image.width;
}

std::optional<ImageBox> CropBox(std::span<const Argument> arguments, size_t row,
                                ImageSize image) {
  const auto height = ConstantInteger("", *arguments[2].type);
  const auto width = ConstantInteger("", *arguments[3].type);
  if (!height.ok() || !width.ok()) return std::nullopt;
  const ImageSize size{*height, *width};
  if (!IsWithin(size, image)) return std::nullopt;
  return DrawPlace(RandomBits(arguments[0], row), size, image);
}

absl::Status ComputeCrop(std::span<const Argument> arguments, size_t rows,
                         const ValueType& type, OutputColumn& out) {
  const Column& from = *arguments[1].column;
  const bool ragged = from.ragged() && HasUnknownDim(type.shape);
  StartRows(type, ragged, out);
  const size_t axis = type.shape.size() == 2 ? 0 : type.shape.size() - 3;
  const ImageSize size{type.shape[axis], type.shape[axis + 1]};
  for (size_t row = 0; row < rows; ++row) {
    const size_t from_row = RowOf(arguments[1], row);
    const auto given = from.RowDims(from_row);
    const RowImages images(given);
    if (!IsWithin(size, images.size)) {
      out.failed_row = row;
      return DataLoss("{}: {} by {} of an image of {} by {}", kCrop,
                      size.height, size.width, images.size.height,
                      images.size.width);
    }
    AppendBox(from, from_row, images,
              DrawPlace(RandomBits(arguments[0], row), size, images.size), out);
    EndImagesRow(given, size, ragged, row, out);
  }
  return absl::OkStatus();
}

// ---- random_resized_crop

constexpr std::string_view kResizedCrop = "image.random_resized_crop";

// The boxes that may be drawn: fractions of the area, and ratios of width to
// height.
struct BoxRange {
  std::array<double, 2> scale = {0.08, 1.0};
  std::array<double, 2> ratio = {3.0 / 4.0, 4.0 / 3.0};
};

absl::StatusOr<double> ConstantNumber(std::string_view function,
                                      std::string_view what,
                                      const ValueType& type) {
  if (const auto number = ConstantOf(type)) return *number;
  return InvalidArgument("{}: {} is a number constant", function, what);
}

// Reads scales and ratios from the arguments `types`, into the defaults.
absl::StatusOr<BoxRange> ReadRange(std::string_view function,
                                   std::span<const ValueType* const> types,
                                   BoxRange range) {
  constexpr std::array<std::string_view, 4> kWhat = {
      "the smallest scale", "the largest scale", "the smallest ratio",
      "the largest ratio"};
  for (size_t k = 0; k < types.size(); ++k) {
    auto& bounds = k < 2 ? range.scale : range.ratio;
    FM_ASSIGN_OR_RETURN(bounds[k % 2],
                        ConstantNumber(function, kWhat[k], *types[k]));
  }
  const bool scales = 0 < range.scale[0] && range.scale[0] <= range.scale[1] &&
                      range.scale[1] <= 1;
  const bool ratios = 1e-3 <= range.ratio[0] &&
                      range.ratio[0] <= range.ratio[1] && range.ratio[1] <= 1e3;
  if (scales && ratios) return range;
  return InvalidArgument(
      "{}: scales of {} to {} and ratios of {} to {}; scales are above 0 and "
      "at "
      "most 1, ratios 0.001 to 1000, the smaller one first",
      function, range.scale[0], range.scale[1], range.ratio[0], range.ratio[1]);
}

// True if 'antialias' stands behind the numbers.
bool EndsInWord(std::span<const ValueType* const> types) {
  return types.size() > 4 && types.back()->dtype == DType::kBytes;
}

// Reads arguments 4 … 7: scale and ratio of torchvision's RandomResizedCrop,
// with the same defaults.
absl::StatusOr<BoxRange> RangeOf(std::span<const ValueType* const> types) {
  if (EndsInWord(types)) types = types.first(types.size() - 1);
  return ReadRange(kResizedCrop,
                   types.subspan(std::min<size_t>(4, types.size())), {});
}

absl::StatusOr<BoxRange> RangeOfArguments(std::span<const Argument> arguments) {
  std::vector<const ValueType*> types;
  for (const Argument& argument : arguments) types.push_back(argument.type);
  return RangeOf(types);
}

std::vector<const ValueType*> PointersTo(const std::vector<ValueType>& types) {
  std::vector<const ValueType*> pointers;
  for (const ValueType& type : types) pointers.push_back(&type);
  return pointers;
}

// Returns bilinear, with antialiasing if the last argument is 'antialias'.
absl::StatusOr<Resampling> CropResampling(
    std::span<const ValueType* const> types) {
  Resampling resampling{cv::INTER_LINEAR};
  if (EndsInWord(types)) {
    FM_RETURN_IF_ERROR(
        AddAntialias(kResizedCrop, *types.back(), types[1]->dtype, resampling));
  }
  return resampling;
}

absl::StatusOr<ValueType> InferResizedCrop(
    const std::vector<ValueType>& given) {
  const size_t written = given.size() - (EndsInWord(PointersTo(given)) ? 2 : 1);
  if (written != 3 && written != 5 && written != 7) {
    return InvalidArgument(
        "{} takes an image, a height and a width, and perhaps two scales, "
        "two ratios and 'antialias', not {} arguments",
        kResizedCrop, written);
  }
  FM_RETURN_IF_ERROR(RangeOf(PointersTo(given)).status());
  FM_RETURN_IF_ERROR(CropResampling(PointersTo(given)).status());
  return ResizedType(kResizedCrop, given[1], given[2], given[3]);
}

// One try to draw a box, by four random words: its area, its ratio of width to
// height, its top and its left edge.
class BoxDraw {
 public:
  BoxDraw(const std::array<uint32_t, 4>& words, ImageSize image,
          const BoxRange& range)
      : words_(words), image_(image) {
    const double log_low = std::log(range.ratio[0]);
    const double log_high = std::log(range.ratio[1]);
    area_ = static_cast<double>(image.height) *
            static_cast<double>(image.width) *
            (range.scale[0] +
             (range.scale[1] - range.scale[0]) * (words[0] * 0x1p-32));
    ratio_ = std::exp(log_low + (log_high - log_low) * (words[1] * 0x1p-32));
  }

  // May exceed the image.
  ImageSize Sides() const {
    return {std::llrint(std::sqrt(area_ / ratio_)),
            std::llrint(std::sqrt(area_ * ratio_))};
  }
  // REQUIRES: the size is within the image.
  ImageBox Placed(ImageSize size) const {
    const auto place = [](uint32_t random, int64_t room) {
      return static_cast<int64_t>(
          (uint64_t{random} * (static_cast<uint64_t>(room) + 1)) >> 32);
    };
    return {place(words_[2], image_.height - size.height),
            place(words_[3], image_.width - size.width), size};
  }

 private:
  const std::array<uint32_t, 4> words_;
  const ImageSize image_;
  double area_ = 0;
  double ratio_ = 0;
};

// Draws a box as torchvision's RandomResizedCrop does: ten tries, then the
// largest central box with an allowed ratio.
ImageBox DrawBox(const RandomBits& bits, ImageSize image,
                 const BoxRange& range) {
  for (uint64_t t = 0; t < 10; ++t) {
    const BoxDraw draw(bits.Block(t), image, range);
    const ImageSize size = draw.Sides();
    if (size.height < 1 || size.width < 1 || size.height > image.height ||
        size.width > image.width) {
      continue;
    }
    return draw.Placed(size);
  }
  const auto height = static_cast<double>(image.height);
  const auto width = static_cast<double>(image.width);
  ImageSize size = image;
  if (width / height < range.ratio[0]) {
    size.height = std::max<int64_t>(1, std::llrint(width / range.ratio[0]));
  } else if (width / height > range.ratio[1]) {
    size.width = std::max<int64_t>(1, std::llrint(height * range.ratio[1]));
  }
  return {(image.height - size.height) / 2, (image.width - size.width) / 2,
          size};
}

std::optional<ImageBox> ResizedCropBox(std::span<const Argument> arguments,
                                       size_t row, ImageSize image) {
  const auto range = RangeOfArguments(arguments);
  if (!range.ok() || image.height < 1 || image.width < 1) return std::nullopt;
  return DrawBox(RandomBits(arguments[0], row), image, *range);
}

absl::Status ComputeResizedCrop(std::span<const Argument> arguments,
                                size_t rows, const ValueType& type,
                                OutputColumn& out) {
  FM_ASSIGN_OR_RETURN(const BoxRange range, RangeOfArguments(arguments));
  FM_ASSIGN_OR_RETURN(const Resampling resampling,
                      CropResampling(TypesOf(arguments)));
  return ResizeRows(
      kResizedCrop, arguments[1], rows, type, resampling,
      [&](size_t row, const RowImages& images) -> absl::StatusOr<ImageBox> {
        if (images.size.height < 1 || images.size.width < 1) {
          return DataLoss("{}: an image without pixels", kResizedCrop);
        }
        return DrawBox(RandomBits(arguments[0], row), images.size, range);
      },
      ConstantSize(type), out);
}

// ---- random_erase

constexpr std::string_view kErase = "image.random_erase";

// torchvision's RandomErasing, with the same defaults.
struct Erasing {
  double probability = 0.5;
  BoxRange range{{0.02, 0.33}, {0.3, 3.3}};
};

absl::StatusOr<Erasing> ErasingOf(std::span<const ValueType* const> types) {
  Erasing erasing;
  if (types.size() > 2) {
    FM_ASSIGN_OR_RETURN(erasing.probability,
                        ConstantNumber(kErase, "the probability", *types[2]));
    if (!(erasing.probability >= 0 && erasing.probability <= 1)) {
      return InvalidArgument("{}: the probability {} is not 0 to 1", kErase,
                             erasing.probability);
    }
  }
  FM_ASSIGN_OR_RETURN(
      erasing.range,
      ReadRange(kErase, types.subspan(std::min<size_t>(3, types.size())),
                erasing.range));
  return erasing;
}

absl::StatusOr<ValueType> InferErase(const std::vector<ValueType>& given) {
  const size_t written = given.size() - 1;
  if (written != 1 && written != 2 && written != 4 && written != 6) {
    return InvalidArgument(
        "{} takes an image, and perhaps a probability, two scales and two "
        "ratios, not {} arguments",
        kErase, written);
  }
  FM_RETURN_IF_ERROR(ErasingOf(PointersTo(given)).status());
  FM_RETURN_IF_ERROR(HeightAxis(kErase, given[1].shape).status());
  if (given[1].dtype == DType::kBytes) {
    return InvalidArgument("{} takes pixels, not bytes", kErase);
  }
  ValueType result;
  result.dtype = given[1].dtype;
  result.shape = given[1].shape;
  return result;
}

// Draws a box that is smaller than the image; it may be empty.
ImageBox DrawErased(const RandomBits& bits, ImageSize image,
                    const Erasing& erasing) {
  if (UnitInterval(bits.First()) >= erasing.probability) return {};
  const BoxRange& range = erasing.range;
  for (uint64_t t = 0; t < 10; ++t) {
    const BoxDraw draw(bits.Block(t), image, range);
    const ImageSize turned = draw.Sides();
    const ImageSize size{turned.width, turned.height};
    if (size.height >= image.height || size.width >= image.width) continue;
    return draw.Placed(size);
  }
  return {};
}

absl::Status ComputeErase(std::span<const Argument> arguments, size_t rows,
                          const ValueType& type, OutputColumn& out) {
  std::vector<const ValueType*> types;
  for (const Argument& argument : arguments) types.push_back(argument.type);
  FM_ASSIGN_OR_RETURN(const Erasing erasing, ErasingOf(types));
  const Column& from = *arguments[1].column;
  CopyRowShapes(arguments[1], rows, type, out);
  const size_t item = ItemSize(from.dtype);
  for (size_t row = 0; row < rows; ++row) {
    const size_t from_row = RowOf(arguments[1], row);
    const auto items = static_cast<size_t>(from.RowItems(from_row));
    std::byte* image = out.values.Extend(items * item);
    std::copy_n(from.values.data() +
                    static_cast<size_t>(from.RowStart(from_row)) * item,
                items * item, image);
    const RowImages images(from.RowDims(from_row));
    const ImageBox box =
        DrawErased(RandomBits(arguments[0], row), images.size, erasing);
    const auto pixel = static_cast<size_t>(images.channels) * item;
    const auto line = static_cast<size_t>(images.size.width) * pixel;
    for (int64_t n = 0; n < images.count; ++n) {
      for (int64_t y = box.top; y < box.top + box.size.height; ++y) {
        std::fill_n(image + static_cast<size_t>(y) * line +
                        static_cast<size_t>(box.left) * pixel,
                    static_cast<size_t>(box.size.width) * pixel, std::byte{0});
      }
      image += static_cast<size_t>(images.size.height) * line;
    }
  }
  return absl::OkStatus();
}

}  // namespace

void AddRandomImageFunctions(FunctionRegistry& registry) {
  FunctionRegistry::Function crop{InferCrop, ComputeCrop, false,
                                  /*random=*/true};
  crop.box = CropBox;
  crop.moves_pixels = true;
  registry.Add(std::string(kCrop), std::move(crop));
  FunctionRegistry::Function resized{InferResizedCrop, ComputeResizedCrop,
                                     /*heavy=*/true, /*random=*/true};
  resized.box = ResizedCropBox;
  registry.Add(std::string(kResizedCrop), std::move(resized));
  registry.Add(std::string(kErase), {InferErase, ComputeErase, false,
                                     /*random=*/true});
  registry.Describe(
      {{"image.random_erase"},
       "`image.random_erase(x)`, `(x, p)`, `(x, p, 0.02, 0.33)`, `(x, p, 0.02, "
       "0.33, 0.3, 3.3)`",
       "random: as torchvision's RandomErasing, with its probability, scales "
       "and ratios (the defaults); the box is 0 in all channels"});
  registry.Describe({{"image.random_crop"},
                     "`image.random_crop(x, h, w)`",
                     "random: anywhere within; as `image.crop`"});
  registry.Describe(
      {{"image.random_resized_crop"},
       "`image.random_resized_crop(x, h, w)`, `(x, h, w, 0.08, 1.0)`, `(x, h, "
       "w, 0.08, 1.0, 0.75, 1.333)`",
       "random: as torchvision's, with its scales and ratios (the defaults are "
       "its own, 3/4 and 4/3); then resized, bilinear, with 'antialias' as "
       "last argument as `image.resize`"});
}

}  // namespace feedmill
