#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/ops/function_families.h"
#include "core/ops/image_shapes.h"
#include "core/ops/row_items.h"

// image.rotate gives the same bits as Pillow's Image.rotate.

namespace feedmill {
namespace {

constexpr std::string_view kRotate = "image.rotate";

absl::StatusOr<bool> IsBilinear(const ValueType& type) {
  FM_ASSIGN_OR_RETURN(const std::string method,
                      ConstantText("image.rotate: the method", type));
  if (method == "bilinear") return true;
  if (method == "nearest") return false;
  return InvalidArgument(
      "{}: the method '{}' is neither 'bilinear' nor 'nearest'", kRotate,
      method);
}

bool Interpolates(DType dtype) {
  return dtype == DType::kUInt8 || dtype == DType::kUInt16 ||
         dtype == DType::kInt16 || dtype == DType::kFloat32 ||
         dtype == DType::kFloat64;
}

absl::StatusOr<ValueType> InferRotate(const std::vector<ValueType>& given) {
  FM_RETURN_IF_ERROR(ExpectArguments(kRotate, given.size(), 3));
  FM_RETURN_IF_ERROR(HeightAxis(kRotate, given[0].shape).status());
  FM_ASSIGN_OR_RETURN(const bool bilinear, IsBilinear(given[2]));
  if (given[0].dtype == DType::kBytes ||
      (bilinear && !Interpolates(given[0].dtype))) {
    return InvalidArgument(
        "{}: {} pixels; cast them to float32, or to uint8, uint16, int16 or "
        "float64",
        kRotate, DTypeName(given[0].dtype));
  }
  if (given[1].dtype == DType::kBytes || !given[1].shape.empty()) {
    return InvalidArgument("{}: the degrees are one number, not {}{}", kRotate,
                           DTypeName(given[1].dtype),
                           ShapeToString(given[1].shape));
  }
  ValueType result;
  result.dtype = given[0].dtype;
  result.shape = given[0].shape;
  return result;
}

// Maps pixel (x, y) of the result to the image: (a[0] x + a[1] y + a[2], a[3] x
// + a[4] y + a[5]). Coordinates are of upper left corners of pixels.
struct Affine {
  double a[6];
};

// Same as Python's round(v, 15).
double Rounded(double v) {
  char digits[32];
  const auto printed = fmt::format_to_n(digits, sizeof digits, "{:.15f}", v);
  double rounded = 0;
  std::from_chars(digits, digits + printed.size, rounded);
  return rounded;
}

// Returns a counter-clockwise rotation about the centre.
Affine TurnOf(double degrees, ImageSize size) {
  double turn = std::fmod(degrees, 360.0);
  if (turn < 0) turn += 360.0;
  const double angle = -(turn * (std::numbers::pi / 180.0));
  const double cosine = Rounded(std::cos(angle));
  const double sine = Rounded(std::sin(angle));
  const double x = static_cast<double>(size.width) / 2;
  const double y = static_cast<double>(size.height) / 2;
  return {{cosine, sine, cosine * -x + sine * -y + 0.0 + x, 0.0 - sine, cosine,
           (0.0 - sine) * -x + cosine * -y + 0.0 + y}};
}

// An image and its rotated result.
template <class T>
struct Turned {
  const T* from;
  T* to;
  int64_t height;
  int64_t width;
  int64_t channels;

  const T* At(int64_t x, int64_t y) const {
    return from + (y * width + x) * channels;
  }
};

// Computes in units of 1/65536 pixel, as Pillow does.
template <class T>
void TurnNearest(const Affine& turn, const Turned<T>& image) {
  const auto fixed = [](double v) {
    return static_cast<int64_t>(std::floor(v * 65536.0 + 0.5));
  };
  const double* a = turn.a;
  int64_t x_of_row = fixed(a[2] + a[0] * 0.5 + a[1] * 0.5);
  int64_t y_of_row = fixed(a[5] + a[3] * 0.5 + a[4] * 0.5);
  const int64_t x_step = fixed(a[0]);
  const int64_t y_step = fixed(a[3]);
  T* to = image.to;
  for (int64_t v = 0; v < image.height; ++v) {
    int64_t x = x_of_row;
    int64_t y = y_of_row;
    for (int64_t u = 0; u < image.width; ++u, to += image.channels) {
      const int64_t from_x = x >> 16;
      const int64_t from_y = y >> 16;
      if (from_x >= 0 && from_x < image.width && from_y >= 0 &&
          from_y < image.height) {
        std::copy_n(image.At(from_x, from_y), image.channels, to);
      } else {
        std::fill_n(to, image.channels, T{});
      }
      x += x_step;
      y += y_step;
    }
    x_of_row += fixed(a[1]);
    y_of_row += fixed(a[4]);
  }
}

template <class T>
double Between(T a, T b, double way) {
  return static_cast<double>(a) + static_cast<double>(b - a) * way;
}

// Interpolates the pixel of `image` around (x, y), a point inside the image.
template <class T>
void Interpolate(const Turned<T>& image, double x, double y, T* to) {
  x -= 0.5;
  y -= 0.5;
  const double left = std::floor(x);
  const double top = std::floor(y);
  const auto column = static_cast<int64_t>(left);
  const auto row = static_cast<int64_t>(top);
  const int64_t x0 = std::clamp<int64_t>(column, 0, image.width - 1);
  const int64_t x1 = std::clamp<int64_t>(column + 1, 0, image.width - 1);
  const int64_t y0 = std::clamp<int64_t>(row, 0, image.height - 1);
  const T* const upper_left = image.At(x0, y0);
  const T* const upper_right = image.At(x1, y0);
  const bool below = row + 1 < image.height;
  const T* const lower_left = below ? image.At(x0, row + 1) : upper_left;
  const T* const lower_right = below ? image.At(x1, row + 1) : upper_right;
  for (int64_t c = 0; c < image.channels; ++c) {
    const double upper = Between(upper_left[c], upper_right[c], x - left);
    const double lower = Between(lower_left[c], lower_right[c], x - left);
    to[c] = static_cast<T>(Between(upper, lower, y - top));
  }
}

template <class T>
void TurnBilinear(const Affine& turn, const Turned<T>& image) {
  const double* a = turn.a;
  T* to = image.to;
  for (int64_t v = 0; v < image.height; ++v) {
    const double row = static_cast<double>(v) + 0.5;
    for (int64_t u = 0; u < image.width; ++u, to += image.channels) {
      const double column = static_cast<double>(u) + 0.5;
      const double x = a[0] * column + a[1] * row + a[2];
      const double y = a[3] * column + a[4] * row + a[5];
      if (x >= 0 && x < static_cast<double>(image.width) && y >= 0 &&
          y < static_cast<double>(image.height)) {
        Interpolate(image, x, y, to);
      } else {
        std::fill_n(to, image.channels, T{});
      }
    }
  }
}

absl::Status ComputeRotate(std::span<const Argument> arguments, size_t rows,
                           const ValueType& type, OutputColumn& out) {
  FM_ASSIGN_OR_RETURN(const bool bilinear, IsBilinear(*arguments[2].type));
  const Column& from = *arguments[0].column;
  const auto items =
      static_cast<size_t>(CopyRowShapes(arguments[0], rows, type, out));
  return VisitNumeric(from.dtype, [&](auto zero) -> absl::Status {
    using T = decltype(zero);
    T* to = reinterpret_cast<T*>(out.values.Extend(items * sizeof(T)));
    for (size_t row = 0; row < rows; ++row) {
      const size_t from_row = RowOf(arguments[0], row);
      const T* given = from.Items<T>(from_row).data();
      const RowImages images(from.RowDims(from_row));
      const double degrees = NumberAt<double>(arguments[1], row);
      if (!std::isfinite(degrees)) {
        out.failed_row = row;
        return DataLoss("{}: {} degrees are not finite", kRotate, degrees);
      }
      const Affine turn = TurnOf(degrees, images.size);
      const int64_t each =
          images.size.height * images.size.width * images.channels;
      for (int64_t n = 0; n < images.count; ++n, given += each, to += each) {
        const Turned<T> image{given, to, images.size.height, images.size.width,
                              images.channels};
        bilinear ? TurnBilinear(turn, image) : TurnNearest(turn, image);
      }
    }
    return absl::OkStatus();
  });
}

}  // namespace

void AddImageRotation(FunctionRegistry& registry) {
  registry.Add(std::string(kRotate),
               {InferRotate, ComputeRotate, /*heavy=*/true});
  registry.Describe(
      {{"image.rotate"},
       "`image.rotate(x, degrees, 'bilinear')`",
       "counter-clockwise about the centre, in the same size, 0 where nothing "
       "was; 'bilinear' (of uint8, uint16, int16, float32, float64) or "
       "'nearest'; as Pillow's; degrees may be computed"});
}

}  // namespace feedmill
