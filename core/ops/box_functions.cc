#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/ops/function_families.h"
#include "core/ops/row_items.h"

// Functions of bounding boxes, [..., 4], and of key points, [..., 2]. They move
// as their image does, like boxes of format XYXY and key points in
// torchvision.transforms.v2. Places are computed in float64.

namespace feedmill {
namespace {

using Numbers = std::span<const double>;

// Maps place (x, y) to (a[0] x + a[1] y + a[2], a[3] x + a[4] y + a[5]).
struct PlaceMap {
  std::array<double, 6> a{1, 0, 0, 0, 1, 0};
  // The height and width of the image at whose edges boxes are cut.
  std::optional<std::array<double, 2>> edges{};
  // It may turn: a box becomes the one around its four corners.
  bool turns = false;

  double X(double x, double y) const {
    return turns ? a[0] * x + a[1] * y + a[2] : a[0] * x + a[2];
  }
  double Y(double x, double y) const {
    return turns ? a[3] * x + a[4] * y + a[5] : a[4] * y + a[5];
  }
};

PlaceMap EdgesOf(Numbers n) { return {.edges{{n[0], n[1]}}}; }
PlaceMap CropOf(Numbers n) {
  return {{1, 0, -n[1], 0, 1, -n[0]}, {{n[2], n[3]}}};
}
PlaceMap LeftRightOf(Numbers n) { return {{-1, 0, n[0], 0, 1, 0}}; }
PlaceMap UpDownOf(Numbers n) { return {{1, 0, 0, 0, -1, n[0]}}; }
// A point is the centre of a pixel: the first one and the last one are swapped.
PlaceMap PointsLeftRightOf(Numbers n) { return {{-1, 0, n[0] - 1, 0, 1, 0}}; }
PlaceMap PointsUpDownOf(Numbers n) { return {{1, 0, 0, 0, -1, n[0] - 1}}; }
PlaceMap ResizeOf(Numbers n) {
  return {{n[3] / n[1], 0, 0, 0, n[2] / n[0], 0}};
}

// Returns the map of `image.affine` for an image of that height and width.
PlaceMap AffineOf(double height, double width, Numbers n) {
  constexpr double kRadians = std::numbers::pi / 180.0;
  const double turn = n[0] * kRadians;
  const double scale = n[3];
  const double sx = n[4] * kRadians;
  const double sy = n[5] * kRadians;
  const double a = std::cos(turn - sy) / std::cos(sy) * scale;
  const double b =
      (-std::cos(turn - sy) * std::tan(sx) / std::cos(sy) - std::sin(turn)) *
      scale;
  const double c = std::sin(turn - sy) / std::cos(sy) * scale;
  const double d =
      (-std::sin(turn - sy) * std::tan(sx) / std::cos(sy) + std::cos(turn)) *
      scale;
  const double x = width * 0.5;
  const double y = height * 0.5;
  return {
      {a, b, a * -x + b * -y + (x + n[1]), c, d, c * -x + d * -y + (y + n[2])},
      {{height, width}},
      /*turns=*/true};
}
PlaceMap MoveOf(Numbers n) { return AffineOf(n[0], n[1], n.subspan(2)); }
PlaceMap RotationOf(Numbers n) {
  return AffineOf(n[0], n[1], std::array{-n[2], 0.0, 0.0, 1.0, 0.0, 0.0});
}

constexpr size_t kUnused = 99;  // no number has this place

// A function of boxes, or of points, and numbers.
struct PlaceFunction {
  const char* name;
  const char* arguments;  // as messages show them
  size_t numbers;
  PlaceMap (*map)(Numbers numbers);
  // The places of numbers that are heights and widths, which are 0 or more, and
  // of those that must be above 0.
  std::array<size_t, 2> lengths{kUnused, kUnused};
  std::array<size_t, 2> positive{kUnused, kUnused};

  bool boxes() const { return name[0] == 'b'; }
  size_t width() const { return boxes() ? 4 : 2; }
};
constexpr size_t kNumbersMax = 8;

constexpr const char* kAffineArguments =
    "h, w, degrees, right, down, scale, shear_x, shear_y";
constexpr PlaceFunction kFunctions[] = {
    {"boxes.clamp", "h, w", 2, EdgesOf, {0, 1}},
    {"boxes.crop", "top, left, h, w", 4, CropOf, {2, 3}},
    {"boxes.flip_left_right", "w", 1, LeftRightOf, {0, kUnused}},
    {"boxes.flip_up_down", "h", 1, UpDownOf, {0, kUnused}},
    {"boxes.resize", "h, w, new_h, new_w", 4, ResizeOf, {2, 3}, {0, 1}},
    {"boxes.affine", kAffineArguments, 8, MoveOf, {0, 1}, {5, kUnused}},
    {"boxes.rotate", "h, w, degrees", 3, RotationOf, {0, 1}},
    {"keypoints.crop", "top, left, h, w", 4, CropOf, {2, 3}},
    {"keypoints.flip_left_right", "w", 1, PointsLeftRightOf, {0, kUnused}},
    {"keypoints.flip_up_down", "h", 1, PointsUpDownOf, {0, kUnused}},
    {"keypoints.resize", "h, w, new_h, new_w", 4, ResizeOf, {2, 3}, {0, 1}},
    {"keypoints.affine", kAffineArguments, 8, MoveOf, {0, 1}, {5, kUnused}},
    {"keypoints.rotate", "h, w, degrees", 3, RotationOf, {0, 1}},
};

// Checks the type of boxes or points, whose last axis is `width`.
absl::Status CheckPlaces(std::string_view function, size_t width,
                         const ValueType& type) {
  const bool places = !type.shape.empty() &&
                      (type.shape.back() == static_cast<int64_t>(width) ||
                       type.shape.back() == kUnknownDim);
  if (places &&
      (type.dtype == DType::kFloat32 || type.dtype == DType::kFloat64)) {
    return absl::OkStatus();
  }
  return InvalidArgument(
      "{} takes float32 or float64 with {} numbers along the last axis ({}), "
      "not {}{}; write cast(reshape(a, [-1, {}]), float32)",
      function, width, width == 4 ? "x1, y1, x2, y2" : "x, y",
      DTypeName(type.dtype), ShapeToString(type.shape), width);
}

// Returns the numbers of a row; DataLoss unless its last axis is `width`.
template <class T>
absl::StatusOr<std::span<const T>> PlacesOf(std::string_view function,
                                            size_t width, const Column& from,
                                            size_t row) {
  const std::span<const T> items = from.Items<T>(row);
  const int64_t last = from.RowDims(row).back();
  if (items.empty() || last == static_cast<int64_t>(width)) return items;
  return DataLoss("{}: {} numbers along the last axis, not {}", function, last,
                  width);
}

absl::Status CheckNumbers(std::string_view function,
                          std::span<const ValueType> given) {
  for (size_t k = 0; k < given.size(); ++k) {
    if (given[k].dtype != DType::kBytes && given[k].shape.empty()) continue;
    return InvalidArgument("{}: argument {} is one number, not {}{}", function,
                           k + 2, DTypeName(given[k].dtype),
                           ShapeToString(given[k].shape));
  }
  return absl::OkStatus();
}

ValueType TypeOf(DType dtype, Shape shape) {
  ValueType result;
  result.dtype = dtype;
  result.shape = std::move(shape);
  return result;
}

absl::StatusOr<ValueType> InferMoved(const PlaceFunction& function,
                                     const std::vector<ValueType>& given) {
  if (given.size() != function.numbers + 1) {
    return InvalidArgument("write {}({}, {})", function.name,
                           function.boxes() ? "boxes" : "points",
                           function.arguments);
  }
  FM_RETURN_IF_ERROR(CheckPlaces(function.name, function.width(), given[0]));
  FM_RETURN_IF_ERROR(CheckNumbers(function.name, std::span(given).subspan(1)));
  return TypeOf(given[0].dtype, given[0].shape);
}

// Returns the map of a row, or DataLoss if a number does not fit.
absl::StatusOr<PlaceMap> MapOf(const PlaceFunction& function,
                               std::span<const Argument> arguments,
                               size_t row) {
  std::array<double, kNumbersMax> store{};
  const std::span<double> numbers = std::span(store).first(function.numbers);
  bool valid = true;
  for (size_t k = 0; k < numbers.size(); ++k) {
    numbers[k] = NumberAt<double>(arguments[k + 1], row);
    valid = valid && std::isfinite(numbers[k]);
  }
  for (const size_t k : function.lengths) {
    valid = valid && (k == kUnused || numbers[k] >= 0);
  }
  for (const size_t k : function.positive) {
    valid = valid && (k == kUnused || numbers[k] > 0);
  }
  if (valid) return function.map(numbers);
  return DataLoss(
      "{}: {} = {}; numbers are finite, heights and widths are not negative, "
      "and divisors and scales are above 0",
      function.name, function.arguments, fmt::join(numbers, ", "));
}

// Moves one point.
template <class T>
void MovePoint(const PlaceMap& map, const T* from, T* to) {
  to[0] = static_cast<T>(map.X(from[0], from[1]));
  to[1] = static_cast<T>(map.Y(from[0], from[1]));
}

// The range of numbers; NaN if one is NaN.
struct PlaceRange {
  double low = HUGE_VAL;
  double high = -HUGE_VAL;

  void Add(double v) {
    if (v < low || std::isnan(v)) low = v;
    if (v > high || std::isnan(v)) high = v;
  }
};

// Moves one box.
template <class T>
void MoveBox(const PlaceMap& map, const T* from, T* to) {
  std::array<double, 4> box{map.X(from[0], from[1]), map.Y(from[0], from[1]),
                            map.X(from[2], from[3]), map.Y(from[2], from[3])};
  if (map.turns) {
    PlaceRange x;
    PlaceRange y;
    for (const size_t corner : {size_t{0}, size_t{2}}) {
      for (const size_t other : {size_t{1}, size_t{3}}) {
        x.Add(map.X(from[corner], from[other]));
        y.Add(map.Y(from[corner], from[other]));
      }
    }
    box = {x.low, y.low, x.high, y.high};
  } else {
    if (map.a[0] < 0) std::swap(box[0], box[2]);
    if (map.a[4] < 0) std::swap(box[1], box[3]);
  }
  for (size_t k = 0; k < box.size(); ++k) {
    if (map.edges) {
      box[k] = std::clamp(box[k], 0.0, (*map.edges)[k % 2 == 0 ? 1 : 0]);
    }
    to[k] = static_cast<T>(box[k]);
  }
}

// Calls visit(zero of the dtype) for float32 or float64.
template <class F>
absl::Status VisitPlaces(DType dtype, F&& visit) {
  return dtype == DType::kFloat32 ? visit(float{}) : visit(double{});
}

// Makes places in the shapes of argument 0. Calls make(row, given, to) for each
// row, which writes as many numbers as are given.
template <class F>
absl::Status MakePlaces(std::string_view function, size_t width,
                        std::span<const Argument> arguments, size_t rows,
                        const ValueType& type, OutputColumn& out, F&& make) {
  const Column& from = *arguments[0].column;
  const auto items =
      static_cast<size_t>(CopyRowShapes(arguments[0], rows, type, out));
  return VisitPlaces(from.dtype, [&](auto zero) -> absl::Status {
    using T = decltype(zero);
    T* to = reinterpret_cast<T*>(out.values.Extend(items * sizeof(T)));
    for (size_t row = 0; row < rows; ++row) {
      out.failed_row = row;
      FM_ASSIGN_OR_RETURN(
          const std::span<const T> given,
          PlacesOf<T>(function, width, from, RowOf(arguments[0], row)));
      FM_RETURN_IF_ERROR(make(row, given, to));
      to += given.size();
    }
    return absl::OkStatus();
  });
}

absl::Status ComputeMoved(const PlaceFunction& function,
                          std::span<const Argument> arguments, size_t rows,
                          const ValueType& type, OutputColumn& out) {
  const size_t width = function.width();
  return MakePlaces(function.name, width, arguments, rows, type, out,
                    [&](size_t row, auto given, auto* to) -> absl::Status {
                      FM_ASSIGN_OR_RETURN(const PlaceMap map,
                                          MapOf(function, arguments, row));
                      for (size_t k = 0; k < given.size(); k += width) {
                        function.boxes() ? MoveBox(map, &given[k], to + k)
                                         : MovePoint(map, &given[k], to + k);
                      }
                      return absl::OkStatus();
                    });
}

// ---- boxes.convert

constexpr std::string_view kConvert = "boxes.convert";

enum class Format { kCorners, kSize, kCentre };

absl::StatusOr<Format> FormatOf(const ValueType& type) {
  const absl::StatusOr<std::string> name =
      ConstantText("boxes.convert: a format", type);
  if (!name.ok()) return name.status();
  constexpr std::array<std::string_view, 3> kNames{"xyxy", "xywh", "cxcywh"};
  const auto* const found = std::find(kNames.begin(), kNames.end(), *name);
  if (found != kNames.end()) return static_cast<Format>(found - kNames.begin());
  return InvalidArgument(
      "{}: the format '{}' is none of 'xyxy', 'xywh' and 'cxcywh'", kConvert,
      *name);
}

absl::StatusOr<ValueType> InferConverted(const std::vector<ValueType>& given) {
  FM_RETURN_IF_ERROR(ExpectArguments(kConvert, given.size(), 3));
  FM_RETURN_IF_ERROR(CheckPlaces(kConvert, 4, given[0]));
  FM_RETURN_IF_ERROR(FormatOf(given[1]).status());
  FM_RETURN_IF_ERROR(FormatOf(given[2]).status());
  return TypeOf(given[0].dtype, given[0].shape);
}

// Converts in the dtype of the boxes, through corners, as torchvision does.
template <class T>
void ConvertBox(Format from, Format to, T* box) {
  for (size_t k = 0; k < 2 && from != to; ++k) {
    T& first = box[k];
    T& second = box[k + 2];
    if (from == Format::kCentre) first -= second / 2;
    if (from != Format::kCorners) second += first;
    if (to != Format::kCorners) second -= first;
    if (to == Format::kCentre) first = (first * 2 + second) / 2;
  }
}

absl::Status ComputeConverted(std::span<const Argument> arguments, size_t rows,
                              const ValueType& type, OutputColumn& out) {
  FM_ASSIGN_OR_RETURN(const Format before, FormatOf(*arguments[1].type));
  FM_ASSIGN_OR_RETURN(const Format after, FormatOf(*arguments[2].type));
  return MakePlaces(kConvert, 4, arguments, rows, type, out,
                    [&](size_t /*row*/, auto given, auto* to) {
                      std::copy(given.begin(), given.end(), to);
                      for (size_t k = 0; k < given.size(); k += 4) {
                        ConvertBox(before, after, to + k);
                      }
                      return absl::OkStatus();
                    });
}

// ---- boxes.valid

constexpr std::string_view kValid = "boxes.valid";

absl::StatusOr<ValueType> InferValid(const std::vector<ValueType>& given) {
  if (given.size() != 3 && given.size() != 5) {
    return InvalidArgument(
        "write {}(boxes, h, w), or {}(boxes, h, w, min_size, min_area)", kValid,
        kValid);
  }
  FM_RETURN_IF_ERROR(CheckPlaces(kValid, 4, given[0]));
  FM_RETURN_IF_ERROR(CheckNumbers(kValid, std::span(given).subspan(1)));
  return TypeOf(DType::kBool,
                Shape(given[0].shape.begin(), given[0].shape.end() - 1));
}

// The bounds of valid boxes: torchvision's SanitizeBoundingBoxes.
template <class T>
struct ValidBoxes {
  T height, width, size_min, area_min;

  ValidBoxes(std::span<const Argument> arguments, size_t row)
      : height(NumberAt<T>(arguments[1], row)),
        width(NumberAt<T>(arguments[2], row)),
        size_min(arguments.size() > 3 ? NumberAt<T>(arguments[3], row) : 1),
        area_min(arguments.size() > 3 ? NumberAt<T>(arguments[4], row) : 1) {}

  bool Has(const T* box) const {
    const T w = box[2] - box[0];
    const T h = box[3] - box[1];
    const bool inside = box[0] >= 0 && box[1] >= 0 && box[2] >= 0 &&
                        box[3] >= 0 && box[0] <= width && box[2] <= width &&
                        box[1] <= height && box[3] <= height;
    return inside && w >= size_min && h >= size_min && w * h >= area_min;
  }
};

absl::Status ComputeValid(std::span<const Argument> arguments, size_t rows,
                          const ValueType& type, OutputColumn& out) {
  const Column& from = *arguments[0].column;
  const bool ragged = from.ragged() && HasUnknownDim(type.shape);
  StartRows(type, ragged, out);
  return VisitPlaces(from.dtype, [&](auto zero) -> absl::Status {
    using T = decltype(zero);
    for (size_t row = 0; row < rows; ++row) {
      const size_t from_row = RowOf(arguments[0], row);
      out.failed_row = row;
      FM_ASSIGN_OR_RETURN(const std::span<const T> given,
                          PlacesOf<T>(kValid, 4, from, from_row));
      const ValidBoxes<T> valid(arguments, row);
      for (size_t k = 0; k < given.size(); k += 4) {
        out.values.Push(static_cast<uint8_t>(valid.Has(&given[k])));
      }
      const auto dims = from.RowDims(from_row);
      const auto outer = dims.first(dims.size() - 1);
      if (ragged) {
        EndRaggedRow(outer, out);
      } else if (row == 0) {
        out.shape.assign(outer.begin(), outer.end());
      }
    }
    return absl::OkStatus();
  });
}

}  // namespace

void AddBoxFunctions(FunctionRegistry& registry) {
  for (const PlaceFunction& function : kFunctions) {
    registry.Add(function.name,
                 {[&function](const std::vector<ValueType>& given) {
                    return InferMoved(function, given);
                  },
                  [&function](std::span<const Argument> arguments, size_t rows,
                              const ValueType& type, OutputColumn& out) {
                    return ComputeMoved(function, arguments, rows, type, out);
                  }});
  }
  registry.Add(std::string(kConvert), {InferConverted, ComputeConverted});
  registry.Add(std::string(kValid), {InferValid, ComputeValid});
  registry.Describe(
      {{"boxes.flip_left_right", "boxes.flip_up_down", "boxes.crop",
        "boxes.resize", "boxes.clamp"},
       "`boxes.flip_left_right(b, w)` `boxes.flip_up_down(b, h)` "
       "`boxes.crop(b, top, left, h, w)` `boxes.resize(b, h, w, new_h, new_w)` "
       "`boxes.clamp(b, h, w)`",
       "boxes [n, 4], each x1, y1, x2, y2 in pixels, float32 or float64, move "
       "as their image of height h and width w, as torchvision v2's; `crop` "
       "and `clamp` cut them at the edges of h × w. All numbers may be "
       "computed"});
  registry.Describe(
      {{"boxes.rotate", "boxes.affine"},
       "`boxes.rotate(b, h, w, degrees)` `boxes.affine(b, h, w, degrees, "
       "right, down, scale, shear_x, shear_y)`",
       "the boxes around the four corners that move as the image of "
       "`image.rotate` (counter-clockwise) and `image.affine` (clockwise), cut "
       "at the edges"});
  registry.Describe({{"boxes.convert"},
                     "`boxes.convert(b, 'xywh', 'xyxy')`",
                     "between 'xyxy', 'xywh' (COCO's) and 'cxcywh' (YOLO's)"});
  registry.Describe(
      {{"boxes.valid"},
       "`boxes.valid(b, h, w)` `boxes.valid(b, h, w, min_size, min_area)`",
       "bool[n]: the box is within the image, both its sides are at least "
       "min_size, and its area min_area (1 and 1), as torchvision's "
       "SanitizeBoundingBoxes; `compress(valid, b)` keeps these"});
  registry.Describe(
      {{"keypoints.flip_left_right", "keypoints.flip_up_down", "keypoints.crop",
        "keypoints.resize", "keypoints.rotate", "keypoints.affine"},
       "`keypoints.flip_left_right(p, w)` `keypoints.flip_up_down(p, h)` "
       "`keypoints.crop(p, top, left, h, w)` `keypoints.resize(p, h, w, "
       "new_h, new_w)` `keypoints.rotate(p, h, w, degrees)` "
       "`keypoints.affine(p, h, w, degrees, right, down, scale, shear_x, "
       "shear_y)`",
       "points [n, 2], each x, y in pixels, move as their image does; none is "
       "cut; a flip gives w − 1 − x, as torchvision's"});
}

}  // namespace feedmill
