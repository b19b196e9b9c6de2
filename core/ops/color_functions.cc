#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/check.h"
#include "core/base/status.h"
#include "core/ops/function_families.h"
#include "core/ops/image_formats.h"
#include "core/ops/image_shapes.h"
#include "core/ops/rgb_changes.h"
#include "core/ops/row_items.h"

// Colours of RGB images of bytes. Bit for bit the same as Pillow's ImageEnhance
// and ImageOps, and as torchvision's functions of Pillow images.

namespace feedmill {
namespace {

constexpr size_t kChannels = 3;

absl::StatusOr<ValueType> InferAdjustment(std::string_view function,
                                          bool has_factor,
                                          const std::vector<ValueType>& given) {
  FM_RETURN_IF_ERROR(
      ExpectArguments(function, given.size(), has_factor ? 2 : 1));
  const ValueType& image = given[0];
  const bool rgb = image.shape.size() >= 3 &&
                   (image.shape.back() == static_cast<int64_t>(kChannels) ||
                    image.shape.back() == kUnknownDim);
  if (image.dtype != DType::kUInt8 || !rgb) {
    return InvalidArgument(
        "{} takes RGB images, uint8 [height, width, 3], not {}{}", function,
        DTypeName(image.dtype), ShapeToString(image.shape));
  }
  if (has_factor &&
      (given[1].dtype == DType::kBytes || !given[1].shape.empty())) {
    return InvalidArgument("{}: the factor is one number, not {}{}", function,
                           DTypeName(given[1].dtype),
                           ShapeToString(given[1].shape));
  }
  ValueType result;
  result.dtype = image.dtype;
  result.shape = image.shape;
  return result;
}

// Pillow's ImagingBlend: interpolates or extrapolates from `from` to `to` by
// `alpha`.
uint8_t Blend(uint8_t from, uint8_t to, float alpha) {
  const auto start = static_cast<float>(from);
  const auto way = static_cast<float>(int{to} - int{from});
  const float value = start + alpha * way;
  if (value <= 0.0F) return 0;
  if (value >= 255.0F) return 255;
  return static_cast<uint8_t>(value);
}

using Table = std::array<uint8_t, 256>;

// Returns the table of f(v) for each byte v.
template <class F>
Table TableOf(const F& f) {
  Table table{};
  for (size_t v = 0; v < table.size(); ++v) {
    table[v] = static_cast<uint8_t>(f(static_cast<uint8_t>(v)));
  }
  return table;
}

size_t PixelsOf(ImageSize size) {
  return static_cast<size_t>(size.height * size.width);
}

void LookUp(const Table& table, const uint8_t* from, ImageSize size,
            uint8_t* to) {
  const size_t values = PixelsOf(size) * kChannels;
  for (size_t k = 0; k < values; ++k) to[k] = table[from[k]];
}

// Each of these functions changes the RGB pixels of one image.
void Brighten(const uint8_t* from, ImageSize size, double factor, uint8_t* to) {
  const auto alpha = static_cast<float>(factor);
  LookUp(TableOf([&](uint8_t v) { return Blend(0, v, alpha); }), from, size,
         to);
}

void Contrast(const uint8_t* from, ImageSize size, double factor, uint8_t* to) {
  const size_t pixels = PixelsOf(size);
  if (pixels == 0) return;
  uint64_t sum = 0;
  for (size_t k = 0; k < pixels; ++k) sum += Luma(from + k * kChannels);
  const double mean = static_cast<double>(sum) / static_cast<double>(pixels);
  const auto grey = static_cast<uint8_t>(mean + 0.5);
  const auto alpha = static_cast<float>(factor);
  LookUp(TableOf([&](uint8_t v) { return Blend(grey, v, alpha); }), from, size,
         to);
}

void Invert(const uint8_t* from, ImageSize size, double, uint8_t* to) {
  LookUp(TableOf([](uint8_t v) { return 255 - v; }), from, size, to);
}

// Keeps the highest bits.
void Posterize(const uint8_t* from, ImageSize size, double bits, uint8_t* to) {
  const int mask = 0xff00 >> static_cast<int>(bits);
  LookUp(TableOf([&](uint8_t v) { return v & mask; }), from, size, to);
}

void Solarize(const uint8_t* from, ImageSize size, double threshold,
              uint8_t* to) {
  LookUp(TableOf([&](uint8_t v) { return v < threshold ? v : 255 - v; }), from,
         size, to);
}

void Grey(const uint8_t* from, ImageSize size, double, uint8_t* to) {
  for (size_t k = 0; k < PixelsOf(size) * kChannels; k += kChannels) {
    std::fill_n(to + k, kChannels, Luma(from + k));
  }
}

using Histogram = std::array<uint64_t, 256>;

// Looks up each channel in table(its histogram).
template <class F>
void LookUpChannels(const uint8_t* from, ImageSize size, uint8_t* to,
                    const F& table) {
  const size_t values = PixelsOf(size) * kChannels;
  for (size_t c = 0; c < kChannels; ++c) {
    Histogram histogram{};
    for (size_t k = c; k < values; k += kChannels) ++histogram[from[k]];
    const Table found = table(histogram);
    for (size_t k = c; k < values; k += kChannels) to[k] = found[from[k]];
  }
}

// The darkest value of a channel becomes 0, the lightest 255.
Table Stretched(const Histogram& histogram) {
  int low = 0;
  int high = 255;
  while (low < 255 && histogram[static_cast<size_t>(low)] == 0) ++low;
  while (high > 0 && histogram[static_cast<size_t>(high)] == 0) --high;
  if (high <= low) return TableOf([](uint8_t v) { return v; });
  const double scale = 255.0 / (high - low);
  const double offset = -low * scale;
  return TableOf([&](uint8_t v) {
    return std::clamp(static_cast<int>(v * scale + offset), 0, 255);
  });
}

// All values of a channel become about as frequent.
Table Equalized(const Histogram& histogram) {
  uint64_t sum = 0;
  uint64_t last = 0;
  size_t used = 0;
  for (const uint64_t count : histogram) {
    sum += count;
    used += count > 0 ? 1 : 0;
    last = count > 0 ? count : last;
  }
  const uint64_t step = (sum - last) / 255;
  if (used <= 1 || step == 0) return TableOf([](uint8_t v) { return v; });
  uint64_t below = step / 2;
  return TableOf([&](uint8_t v) {
    const uint64_t value = below / step;
    below += histogram[v];
    return std::min<uint64_t>(value, 255);
  });
}

void Autocontrast(const uint8_t* from, ImageSize size, double, uint8_t* to) {
  LookUpChannels(from, size, to, Stretched);
}

void Equalize(const uint8_t* from, ImageSize size, double, uint8_t* to) {
  LookUpChannels(from, size, to, Equalized);
}

// Blends from a smooth image; Pillow's filter SMOOTH keeps pixels at the edge.
void Sharpen(const uint8_t* from, ImageSize size, double factor, uint8_t* to) {
  const auto alpha = static_cast<float>(factor);
  constexpr float kSide = 1.0F / 13.0F;
  constexpr float kMiddle = 5.0F / 13.0F;
  const auto line = static_cast<size_t>(size.width) * kChannels;
  std::copy_n(from, PixelsOf(size) * kChannels, to);
  for (int64_t y = 1; y + 1 < size.height; ++y) {
    const uint8_t* const row = from + static_cast<size_t>(y) * line;
    uint8_t* const out = to + static_cast<size_t>(y) * line;
    for (size_t k = kChannels; k + kChannels < line; ++k) {
      const auto weigh = [&](const uint8_t* at, float middle) {
        return static_cast<float>(at[-3]) * kSide +
               static_cast<float>(at[0]) * middle +
               static_cast<float>(at[3]) * kSide;
      };
      float sum = 0.5F;
      sum += weigh(row + line + k, kSide);
      sum += weigh(row + k, kMiddle);
      sum += weigh(row + k - line, kSide);
      const auto smooth = static_cast<uint8_t>(std::clamp(sum, 0.0F, 255.0F));
      out[k] = Blend(smooth, row[k], alpha);
    }
  }
}

void Saturate(const uint8_t* from, ImageSize size, double factor, uint8_t* to) {
  const auto alpha = static_cast<float>(factor);
  for (size_t k = 0; k < PixelsOf(size); ++k) {
    const uint8_t* rgb = from + k * kChannels;
    const uint8_t grey = Luma(rgb);
    for (size_t c = 0; c < kChannels; ++c) {
      to[k * kChannels + c] = Blend(grey, rgb[c], alpha);
    }
  }
}

using Pixel = std::array<uint8_t, kChannels>;

uint8_t ClipByte(double value) {
  return static_cast<uint8_t>(std::clamp(value, 0.0, 255.0));
}

// Pillow's rgb2hsv.
Pixel HsvOf(const uint8_t* rgb) {
  const uint8_t high = std::max({rgb[0], rgb[1], rgb[2]});
  const uint8_t low = std::min({rgb[0], rgb[1], rgb[2]});
  if (high == low) return {0, 0, high};
  const auto range = static_cast<float>(high - low);
  const float saturation = range / static_cast<float>(high);
  const float r = static_cast<float>(high - rgb[0]) / range;
  const float g = static_cast<float>(high - rgb[1]) / range;
  const float b = static_cast<float>(high - rgb[2]) / range;
  float hue = 0;
  if (rgb[0] == high) {
    hue = b - g;
  } else if (rgb[1] == high) {
    hue = static_cast<float>(2.0 + r - b);
  } else {
    hue = static_cast<float>(4.0 + g - r);
  }
  hue = static_cast<float>(std::fmod(hue / 6.0 + 1.0, 1.0));
  return {ClipByte(std::trunc(hue * 255.0)),
          ClipByte(std::trunc(saturation * 255.0)), high};
}

// Pillow's hsv2rgb.
Pixel RgbOf(const Pixel& hsv) {
  const uint8_t v = hsv[2];
  if (hsv[1] == 0) return {v, v, v};
  const double sixth = static_cast<float>(hsv[0]) * 6.0 / 255.0;
  const int sector = static_cast<int>(std::floor(sixth));
  const auto rest = static_cast<float>(
      sixth - static_cast<double>(static_cast<float>(sector)));
  const auto saturation =
      static_cast<float>(static_cast<float>(hsv[1]) / 255.0);
  const auto value = static_cast<double>(v);
  const uint8_t p = ClipByte(std::round(value * (1.0 - saturation)));
  const uint8_t q = ClipByte(
      std::round(value * (1.0 - static_cast<double>(saturation * rest))));
  const uint8_t t =
      ClipByte(std::round(value * (1.0 - saturation * (1.0 - rest))));
  switch (sector % 6) {
    case 0:
      return {v, t, p};
    case 1:
      return {q, v, p};
    case 2:
      return {p, v, t};
    case 3:
      return {p, q, v};
    case 4:
      return {t, p, v};
    default:
      return {v, p, q};
  }
}

void TurnHue(const uint8_t* from, ImageSize size, double factor, uint8_t* to) {
  const auto turn = static_cast<uint8_t>(static_cast<int>(factor * 255.0));
  for (size_t k = 0; k < PixelsOf(size); ++k) {
    Pixel hsv = HsvOf(from + k * kChannels);
    hsv[0] = static_cast<uint8_t>(hsv[0] + turn);
    const Pixel rgb = RgbOf(hsv);
    std::copy(rgb.begin(), rgb.end(), to + k * kChannels);
  }
}

struct Adjustment {
  const char* name;
  RgbKernel run;
  // Smallest and largest valid factor; 1 and 0: there is none.
  double low;
  double high;

  bool has_factor() const { return low <= high; }
};
constexpr double kFactorMax = 1e6;
constexpr Adjustment kAdjustments[] = {
    {"image.adjust_brightness", Brighten, 0, kFactorMax},
    {"image.adjust_contrast", Contrast, 0, kFactorMax},
    {"image.adjust_saturation", Saturate, 0, kFactorMax},
    {"image.adjust_hue", TurnHue, -0.5, 0.5},
    {"image.adjust_sharpness", Sharpen, 0, kFactorMax},
    {"image.posterize", Posterize, 0, 8},
    {"image.solarize", Solarize, 0, 256},
    {"image.invert", Invert, 1, 0},
    {"image.grayscale", Grey, 1, 0},
    {"image.autocontrast", Autocontrast, 1, 0},
    {"image.equalize", Equalize, 1, 0},
};

absl::Status Adjust(const Adjustment& adjustment,
                    std::span<const Argument> arguments, size_t rows,
                    const ValueType& type, OutputColumn& out) {
  const Column& from = *arguments[0].column;
  const auto items =
      static_cast<size_t>(CopyRowShapes(arguments[0], rows, type, out));
  auto* to = reinterpret_cast<uint8_t*>(out.values.Extend(items));
  for (size_t row = 0; row < rows; ++row) {
    const size_t from_row = RowOf(arguments[0], row);
    const std::span<const uint8_t> given = from.Items<uint8_t>(from_row);
    const RowImages images(from.RowDims(from_row));
    const double factor =
        adjustment.has_factor() ? NumberAt<double>(arguments[1], row) : 0;
    const bool means = !adjustment.has_factor() ||
                       (factor >= adjustment.low && factor <= adjustment.high);
    if (!means || images.channels != static_cast<int64_t>(kChannels)) {
      out.failed_row = row;
      if (means) {
        return DataLoss("{}: {} channels instead of 3", adjustment.name,
                        images.channels);
      }
      return DataLoss("{}: the factor {} is out of range, {} to {}",
                      adjustment.name, factor, adjustment.low, adjustment.high);
    }
    const size_t pixels = PixelsOf(images.size);
    for (int64_t n = 0; n < images.count; ++n) {
      const size_t at = static_cast<size_t>(n) * pixels * kChannels;
      adjustment.run(given.data() + at, images.size, factor, to + at);
    }
    to += given.size();
  }
  return absl::OkStatus();
}

}  // namespace

RgbKernel ColorKernel(std::string_view name) {
  constexpr std::string_view kPrefix = "image.";
  for (const Adjustment& adjustment : kAdjustments) {
    const std::string_view full = adjustment.name;
    if (full.substr(kPrefix.size()) == name) return adjustment.run;
  }
  FM_CHECK(false);
}

void AddColorFunctions(FunctionRegistry& registry) {
  for (const Adjustment& adjustment : kAdjustments) {
    registry.Add(
        adjustment.name,
        {[&adjustment](const std::vector<ValueType>& given) {
           return InferAdjustment(adjustment.name, adjustment.has_factor(),
                                  given);
         },
         [&adjustment](std::span<const Argument> arguments, size_t rows,
                       const ValueType& type, OutputColumn& out) {
           return Adjust(adjustment, arguments, rows, type, out);
         },
         /*heavy=*/true});
  }
  registry.Describe(
      {{"image.adjust_brightness", "image.adjust_contrast",
        "image.adjust_saturation"},
       "`image.adjust_brightness(x, f)` `image.adjust_contrast(x, f)` "
       "`image.adjust_saturation(x, f)`",
       "uint8 RGB; as Pillow's ImageEnhance: 0 is black or grey, 1 the image "
       "itself; f may be computed"});
  registry.Describe(
      {{"image.adjust_sharpness"},
       "`image.adjust_sharpness(x, f)`",
       "uint8 RGB; as Pillow's ImageEnhance: 0 is smooth, 1 the image itself"});
  registry.Describe(
      {{"image.posterize", "image.solarize"},
       "`image.posterize(x, bits)` `image.solarize(x, threshold)`",
       "uint8 RGB; keeps the highest 0 to 8 bits; inverts values from the "
       "threshold, 0 to 256, on; as Pillow's ImageOps"});
  registry.Describe(
      {{"image.invert", "image.grayscale", "image.autocontrast",
        "image.equalize"},
       "`image.invert(x)` `image.grayscale(x)` `image.autocontrast(x)` "
       "`image.equalize(x)`",
       "uint8 RGB, which stays; as Pillow's ImageOps, and its grey (L) in all "
       "channels"});
  registry.Describe({{"image.adjust_hue"},
                     "`image.adjust_hue(x, f)`",
                     "uint8 RGB; a turn of −0.5 to 0.5, as torchvision's of "
                     "Pillow's images"});
}

}  // namespace feedmill
