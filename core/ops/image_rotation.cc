#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <numbers>
#include <span>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/ops/function_families.h"
#include "core/ops/image_shapes.h"
#include "core/ops/rgb_changes.h"
#include "core/ops/row_items.h"

// image.rotate gives the same bits as Pillow's Image.rotate, image.affine and
// its parts as torchvision's affine of Pillow's images.

namespace feedmill {
namespace {

absl::StatusOr<bool> IsBilinear(std::string_view function,
                                const ValueType& type) {
  FM_ASSIGN_OR_RETURN(
      const std::string method,
      ConstantText(fmt::format("{}: the method", function), type));
  if (method == "bilinear") return true;
  if (method == "nearest") return false;
  return InvalidArgument(
      "{}: the method '{}' is neither 'bilinear' nor 'nearest'", function,
      method);
}

bool Interpolates(DType dtype) {
  return dtype == DType::kUInt8 || dtype == DType::kUInt16 ||
         dtype == DType::kInt16 || dtype == DType::kFloat32 ||
         dtype == DType::kFloat64;
}

constexpr size_t kNumbersMax = 6;  // of image.affine

// Infers a function of an image, numbers and a method.
absl::StatusOr<ValueType> InferMove(std::string_view function, size_t numbers,
                                    const std::vector<ValueType>& given) {
  const bool has_centre = numbers == kNumbersMax && given.size() == numbers + 3;
  FM_RETURN_IF_ERROR(
      ExpectArguments(function, given.size(), numbers + (has_centre ? 3 : 2)));
  FM_RETURN_IF_ERROR(HeightAxis(function, given[0].shape).status());
  FM_ASSIGN_OR_RETURN(const bool bilinear,
                      IsBilinear(function, given[numbers + 1]));
  if (has_centre && given.back().constants.size() != 2) {
    return InvalidArgument("{}: the centre is a list of two numbers, [x, y]",
                           function);
  }
  if (given[0].dtype == DType::kBytes ||
      (bilinear && !Interpolates(given[0].dtype))) {
    return InvalidArgument(
        "{}: {} pixels; cast them to float32, or to uint8, uint16, int16 or "
        "float64",
        function, DTypeName(given[0].dtype));
  }
  for (size_t k = 1; k <= numbers; ++k) {
    if (given[k].dtype != DType::kBytes && given[k].shape.empty()) continue;
    return InvalidArgument("{}: argument {} is one number, not {}{}", function,
                           k + 1, DTypeName(given[k].dtype),
                           ShapeToString(given[k].shape));
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

// A point of an image; (0, 0) is its upper left corner.
struct ImagePoint {
  double x = 0;
  double y = 0;
};
ImagePoint CentreOf(ImageSize size) {
  return {static_cast<double>(size.width) * 0.5,
          static_cast<double>(size.height) * 0.5};
}

// Returns a counter-clockwise rotation about the centre.
Affine TurnOf(std::span<const double> degrees, ImagePoint centre) {
  double turn = std::fmod(degrees[0], 360.0);
  if (turn < 0) turn += 360.0;
  const double angle = -(turn * (std::numbers::pi / 180.0));
  const double cosine = Rounded(std::cos(angle));
  const double sine = Rounded(std::sin(angle));
  const auto [x, y] = centre;
  return {{cosine, sine, cosine * -x + sine * -y + 0.0 + x, 0.0 - sine, cosine,
           (0.0 - sine) * -x + cosine * -y + 0.0 + y}};
}

// Returns the inverse of the change about a point.
Affine InverseOf(const AffineArguments& change, ImagePoint about) {
  constexpr double kRadians = std::numbers::pi / 180.0;
  const double turn = change.angle * kRadians;
  const double sx = change.shear_x * kRadians;
  const double sy = change.shear_y * kRadians;
  const auto [x, y] = about;
  const double a = std::cos(turn - sy) / std::cos(sy);
  const double b =
      -std::cos(turn - sy) * std::tan(sx) / std::cos(sy) - std::sin(turn);
  const double c = std::sin(turn - sy) / std::cos(sy);
  const double d =
      -std::sin(turn - sy) * std::tan(sx) / std::cos(sy) + std::cos(turn);
  Affine inverse{{d / change.scale, -b / change.scale, 0, -c / change.scale,
                  a / change.scale, 0}};
  double* const m = inverse.a;
  m[2] = m[0] * (-x - change.right) + m[1] * (-y - change.down);
  m[5] = m[3] * (-x - change.right) + m[4] * (-y - change.down);
  m[2] += x;
  m[5] += y;
  return inverse;
}

Affine AffineOf(std::span<const double> n, ImagePoint about) {
  return InverseOf({n[0], n[1], n[2], n[3], n[4], n[5]}, about);
}
Affine ShearOf(std::span<const double> n, ImagePoint about) {
  return InverseOf({.shear_x = n[0], .shear_y = n[1]}, about);
}
Affine TranslationOf(std::span<const double> n, ImagePoint about) {
  return InverseOf({.right = n[0], .down = n[1]}, about);
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

// Moves and scales without a turn, as Pillow does it.
template <class T>
void ScaleNearest(const Affine& scale, const Turned<T>& image) {
  const auto pixel = [](double v, int64_t size) {
    return v < 0 || v >= static_cast<double>(size) ? -1
                                                   : static_cast<int64_t>(v);
  };
  const double* a = scale.a;
  T* to = image.to;
  double y = a[5] + a[4] * 0.5;
  for (int64_t v = 0; v < image.height; ++v, y += a[4]) {
    const int64_t from_y = pixel(y, image.height);
    double x = a[2] + a[0] * 0.5;
    for (int64_t u = 0; u < image.width; ++u, to += image.channels) {
      const int64_t from_x = pixel(x, image.width);
      if (from_x >= 0 && from_y >= 0) {
        std::copy_n(image.At(from_x, from_y), image.channels, to);
      } else {
        std::fill_n(to, image.channels, T{});
      }
      x += a[0];
    }
  }
}

// Computes in units of 1/65536 pixel, as Pillow does.
template <class T>
void TurnNearest(const Affine& turn, const Turned<T>& image) {
  const auto fixed = [](double v) {
    return static_cast<int64_t>(std::floor(v * 65536.0 + 0.5));
  };
  const double* a = turn.a;
  if (a[1] == 0 && a[3] == 0) return ScaleNearest(turn, image);
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

// A function of an image, numbers and a method.
struct Move {
  const char* name;
  size_t numbers;
  Affine (*matrix)(std::span<const double> numbers, ImagePoint about);
};
constexpr Move kMoves[] = {
    {"image.rotate", 1, TurnOf},
    {"image.affine", kNumbersMax, AffineOf},
    {"image.shear", 2, ShearOf},
    {"image.translate", 2, TranslationOf},
};

// Returns the matrix of a row, or DataLoss if it leads out of the numbers that
// are computed with.
absl::StatusOr<Affine> MatrixOf(const Move& move,
                                std::span<const Argument> arguments, size_t row,
                                ImageSize size) {
  constexpr double kMost = 1e9;
  ImagePoint about = CentreOf(size);
  if (const size_t at = move.numbers + 2; at < arguments.size()) {
    const std::vector<double>& point = arguments[at].type->constants;
    about = {point[0], point[1]};
  }
  double numbers[kNumbersMax];
  bool valid = true;
  for (size_t k = 0; k < move.numbers; ++k) {
    numbers[k] = NumberAt<double>(arguments[k + 1], row);
    valid = valid && std::isfinite(numbers[k]);
  }
  const bool scales = move.numbers == kNumbersMax;
  if (valid && (!scales || numbers[3] > 0)) {
    const Affine matrix =
        move.matrix(std::span(numbers).first(move.numbers), about);
    if (std::all_of(std::begin(matrix.a), std::end(matrix.a),
                    [](double v) { return std::fabs(v) <= kMost; })) {
      return matrix;
    }
  }
  return DataLoss("{}: {} are not finite, too large, or no scale above 0",
                  move.name,
                  fmt::join(std::span(numbers).first(move.numbers), ", "));
}

template <class T>
void MoveImage(const Affine& matrix, const Turned<T>& image, bool bilinear) {
  bilinear ? TurnBilinear(matrix, image) : TurnNearest(matrix, image);
}

void MoveRgb(const Affine& matrix, const uint8_t* from, ImageSize size,
             bool bilinear, uint8_t* to) {
  MoveImage(matrix, Turned<uint8_t>{from, to, size.height, size.width, 3},
            bilinear);
}

absl::Status ComputeMove(const Move& move, std::span<const Argument> arguments,
                         size_t rows, const ValueType& type,
                         OutputColumn& out) {
  FM_ASSIGN_OR_RETURN(const bool bilinear,
                      IsBilinear(move.name, *arguments[move.numbers + 1].type));
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
      const auto matrix = MatrixOf(move, arguments, row, images.size);
      if (!matrix.ok()) {
        out.failed_row = row;
        return matrix.status();
      }
      const int64_t each =
          images.size.height * images.size.width * images.channels;
      for (int64_t n = 0; n < images.count; ++n, given += each, to += each) {
        const Turned<T> image{given, to, images.size.height, images.size.width,
                              images.channels};
        MoveImage(*matrix, image, bilinear);
      }
    }
    return absl::OkStatus();
  });
}

}  // namespace

void AffineRgb(const uint8_t* from, ImageSize size,
               const AffineArguments& arguments, bool bilinear, uint8_t* to) {
  const ImagePoint about =
      arguments.about_corner ? ImagePoint{} : CentreOf(size);
  MoveRgb(InverseOf(arguments, about), from, size, bilinear, to);
}

void RotateRgb(const uint8_t* from, ImageSize size, double degrees,
               bool bilinear, uint8_t* to) {
  MoveRgb(TurnOf({&degrees, 1}, CentreOf(size)), from, size, bilinear, to);
}

void AddImageRotation(FunctionRegistry& registry) {
  for (const Move& move : kMoves) {
    registry.Add(move.name,
                 {[&move](const std::vector<ValueType>& given) {
                    return InferMove(move.name, move.numbers, given);
                  },
                  [&move](std::span<const Argument> arguments, size_t rows,
                          const ValueType& type, OutputColumn& out) {
                    return ComputeMove(move, arguments, rows, type, out);
                  },
                  /*heavy=*/true});
  }
  registry.Describe(
      {{"image.rotate"},
       "`image.rotate(x, degrees, 'bilinear')`",
       "counter-clockwise about the centre, in the same size, 0 where nothing "
       "was; 'bilinear' (of uint8, uint16, int16, float32, float64) or "
       "'nearest'; as Pillow's; degrees may be computed"});
  registry.Describe(
      {{"image.affine", "image.shear", "image.translate"},
       "`image.affine(x, degrees, right, down, scale, shear_x, shear_y, "
       "'bilinear')`, `(…, 'bilinear', [x, y])` `image.shear(x, shear_x, "
       "shear_y, 'bilinear')` "
       "`image.translate(x, right, down, 'bilinear')`",
       "clockwise and sheared about the centre, or about [x, y], in the same "
       "size, 0 where "
       "nothing was, as torchvision's F.affine of Pillow's images; 'bilinear' "
       "or 'nearest'; numbers may be computed; shears are in degrees"});
}

}  // namespace feedmill
