#include "tests/reference/box_functions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "feedmill/expr.h"
#include "tests/reference/expression.h"
#include "tests/reference/interpreter.h"

namespace feedmill::reference {
namespace {

using Point = std::array<double, 2>;
using PointMove = std::function<Point(Point)>;

// A number in the dtype of the boxes.
long double InDType(DType dtype, double v) {
  return dtype == DType::kFloat32 ? static_cast<float>(v) : v;
}

// torchvision's _get_inverse_affine_matrix, not inverted.
PointMove AffineMove(double h, double w, const std::array<double, 6>& n) {
  const auto [degrees, right, down, scale, shear_x, shear_y] = n;
  if (!(scale > 0)) throw DataError("boxes.affine");
  const double radians = 3.14159265358979323846 / 180.0;
  const double t = degrees * radians, x = shear_x * radians,
               y = shear_y * radians;
  std::array<double, 6> m = {
      std::cos(t - y) / std::cos(y),
      -std::cos(t - y) * std::tan(x) / std::cos(y) - std::sin(t),
      0,
      std::sin(t - y) / std::cos(y),
      -std::sin(t - y) * std::tan(x) / std::cos(y) + std::cos(t),
      0};
  for (double& v : m) v *= scale;
  const double cx = w * 0.5, cy = h * 0.5;
  m[2] = m[0] * -cx + m[1] * -cy + (cx + right);
  m[5] = m[3] * -cx + m[4] * -cy + (cy + down);
  return [m](Point p) {
    const auto sum = [&](size_t k) {
      return m[k] * p[0] + m[k + 1] * p[1] + m[k + 2];
    };
    return Point{sum(0), sum(3)};
  };
}

// The motion of places by a function, and the image at whose edges it cuts
// boxes.
struct Motion {
  PointMove move;
  std::optional<Point> edges;
};

Motion MotionOf(const std::string& f, bool points,
                const std::vector<double>& n) {
  const double last = points ? 1 : 0;
  const auto length = [&](size_t k) {
    if (n.at(k) < 0) throw DataError("boxes");
    return n[k];
  };
  const auto divisor = [&](size_t k) {
    if (!(n.at(k) > 0)) throw DataError("boxes");
    return n[k];
  };
  if (f == "clamp")
    return {[](Point p) { return p; }, Point{length(1), length(0)}};
  if (f == "crop")
    return {[&n](Point p) {
              return Point{p[0] - n[1], p[1] - n[0]};
            },
            Point{length(3), length(2)}};
  if (f == "flip_left_right")
    return {[w = length(0), last](Point p) {
              return Point{w - last - p[0], p[1]};
            },
            {}};
  if (f == "flip_up_down")
    return {[h = length(0), last](Point p) {
              return Point{p[0], h - last - p[1]};
            },
            {}};
  if (f == "resize")
    return {[x = length(3) / divisor(1), y = length(2) / divisor(0)](Point p) {
              return Point{p[0] * x, p[1] * y};
            },
            {}};
  if (f == "rotate")
    return {AffineMove(length(0), length(1), {-n[2], 0, 0, 1, 0, 0}),
            Point{n[1], n[0]}};
  return {
      AffineMove(length(0), length(1), {n[2], n[3], n[4], n[5], n[6], n[7]}),
      Point{n[1], n[0]}};
}

Tensor MovedBoxes(const std::string& f, const Tensor& a, const Motion& motion) {
  const bool turns = f == "rotate" || f == "affine";
  Tensor out{a.dtype, a.shape, {}, {}};
  for (size_t k = 0; k < a.numbers.size(); k += 4) {
    const auto at = [&](size_t x, size_t y) {
      return motion.move({static_cast<double>(a.numbers[k + x]),
                          static_cast<double>(a.numbers[k + y])});
    };
    std::array<double, 4> box{at(0, 1)[0], at(0, 1)[1], at(2, 3)[0],
                              at(2, 3)[1]};
    if (f == "flip_left_right") std::swap(box[0], box[2]);
    if (f == "flip_up_down") std::swap(box[1], box[3]);
    for (const size_t side : {size_t{0}, size_t{1}}) {
      if (!turns) continue;
      const std::array<double, 4> all{at(0, 1)[side], at(0, 3)[side],
                                      at(2, 1)[side], at(2, 3)[side]};
      const bool nan = std::any_of(all.begin(), all.end(),
                                   [](double v) { return std::isnan(v); });
      box[side] = nan ? NAN : *std::min_element(all.begin(), all.end());
      box[side + 2] = nan ? NAN : *std::max_element(all.begin(), all.end());
    }
    for (size_t side = 0; side < 4; ++side) {
      double v = box[side];
      if (motion.edges && !std::isnan(v))
        v = std::min(std::max(v, 0.0), (*motion.edges)[side % 2]);
      out.numbers.push_back(InDType(a.dtype, v));
    }
  }
  return out;
}

Tensor MovedPoints(const Tensor& a, const Motion& motion) {
  Tensor out{a.dtype, a.shape, {}, {}};
  for (size_t k = 0; k < a.numbers.size(); k += 2)
    for (const double v : motion.move({static_cast<double>(a.numbers[k]),
                                       static_cast<double>(a.numbers[k + 1])}))
      out.numbers.push_back(InDType(a.dtype, v));
  return out;
}

// Each number of each step is rounded to T, as torchvision's tensors are.
template <class T>
void ConvertBox(const std::string& from, const std::string& to,
                std::vector<long double>& numbers, size_t at) {
  if (from == to) return;
  for (const size_t k : {at, at + 1}) {
    T first = static_cast<T>(numbers[k]);
    T second = static_cast<T>(numbers[k + 2]);
    if (from == "cxcywh") first = first - second / 2;
    if (from != "xyxy") second = second + first;
    if (to != "xyxy") second = second - first;
    if (to == "cxcywh") first = (first * 2 + second) / 2;
    numbers[k] = first;
    numbers[k + 2] = second;
  }
}

Tensor ConvertedBoxes(const Expr::Call& call, Tensor a) {
  const auto format = [&](size_t k) {
    return std::get<std::string>(
        std::get<Expr::Literal>(call.arguments[k].node()).value);
  };
  for (size_t k = 0; k < a.numbers.size(); k += 4)
    a.dtype == DType::kFloat32
        ? ConvertBox<float>(format(1), format(2), a.numbers, k)
        : ConvertBox<double>(format(1), format(2), a.numbers, k);
  return a;
}

// torchvision's _get_sanitize_bounding_boxes_mask.
template <class T>
bool IsValidBox(const Tensor& a, size_t k, const std::vector<double>& n) {
  const auto at = [&](size_t i) { return static_cast<T>(a.numbers[k + i]); };
  const auto number = [&](size_t i) {
    return n.size() > i ? static_cast<T>(n[i]) : T{1};
  };
  const T w = at(2) - at(0), h = at(3) - at(1), area = w * h;
  for (size_t i = 0; i < 4; ++i)
    if (!(at(i) >= 0) || !(at(i) <= number(i % 2 == 0 ? 1 : 0))) return false;
  return w >= number(2) && h >= number(2) && area >= number(3);
}

}  // namespace

std::optional<Tensor> BoxFunction(
    const Expr::Call& call, const std::function<Tensor(size_t)>& argument) {
  const bool points = call.function.starts_with("keypoints.");
  if (!points && !call.function.starts_with("boxes.")) return std::nullopt;
  const std::string f = call.function.substr(call.function.find('.') + 1);
  const Tensor a = argument(0);
  if (f == "convert") return ConvertedBoxes(call, a);
  std::vector<double> n;
  for (size_t k = 1; k < call.arguments.size(); ++k)
    n.push_back(static_cast<double>(argument(k).numbers.at(0)));
  if (f == "valid") {
    Tensor out{DType::kBool, Shape(a.shape.begin(), a.shape.end() - 1), {}, {}};
    for (size_t k = 0; k < a.numbers.size(); k += 4)
      out.numbers.push_back(a.dtype == DType::kFloat32
                                ? IsValidBox<float>(a, k, n)
                                : IsValidBox<double>(a, k, n));
    return out;
  }
  for (const double v : n)
    if (!std::isfinite(v)) throw DataError("boxes");
  const Motion motion = MotionOf(f, points, n);
  return points ? MovedPoints(a, motion) : MovedBoxes(f, a, motion);
}

}  // namespace feedmill::reference
