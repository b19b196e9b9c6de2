#include "tests/reference/image_resizing.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/reference/expression.h"
#include "tests/reference/tensor_functions.h"

namespace feedmill::reference {
namespace {

double FilterValue(double x, bool cubic) {
  x = std::abs(x);
  if (!cubic) return std::max(0.0, 1 - x);
  if (x < 1) return (1.5 * x - 2.5) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * -0.5 : 0;
}

// Weights of the source pixels, from the first one on, in a target pixel.
struct Weights {
  int64_t first = 0;
  std::vector<double> values;
};

std::vector<Weights> WeightsAlong(int64_t size, int64_t to, bool cubic) {
  const double scale = double(size) / double(to);
  const double wide = std::max(scale, 1.0);
  const double support = (cubic ? 2 : 1) * wide;
  std::vector<Weights> all;
  for (int64_t k = 0; k < to; ++k) {
    const double center = scale * (double(k) + 0.5);
    Weights one{std::max<int64_t>(0, int64_t(center - support + 0.5)), {}};
    const int64_t end = std::min(size, int64_t(center + support + 0.5));
    double sum = 0;
    for (int64_t at = one.first; at < end; ++at) {
      one.values.push_back(
          FilterValue((double(at) - center + 0.5) * (1 / wide), cubic));
      sum += one.values.back();
    }
    for (double& value : one.values) value /= sum;
    all.push_back(std::move(one));
  }
  return all;
}

// The number of fraction bits with which all weights fit 16 bits.
int BitsOf(const std::vector<Weights>& all) {
  double largest = 0;
  for (const Weights& one : all)
    for (const double value : one.values) largest = std::max(largest, value);
  int bits = 0;
  while (bits < 22 && int(0.5 + largest * (1 << (bits + 1))) < 32768) ++bits;
  return bits;
}

// Resizes the middle one of the dims [outer, size, inner].
Tensor ResizedAlong(const Tensor& a, int64_t outer, int64_t size, int64_t inner,
                    int64_t to, bool cubic) {
  const std::vector<Weights> all = WeightsAlong(size, to, cubic);
  const int bits = BitsOf(all);
  Tensor out{a.dtype, a.shape, {}, {}};
  for (int64_t n = 0; n < outer; ++n)
    for (const Weights& one : all)
      for (int64_t i = 0; i < inner; ++i) {
        int64_t whole = int64_t{1} << (bits - 1);
        double exact = 0;
        for (size_t k = 0; k < one.values.size(); ++k) {
          const auto value = a.numbers.at(static_cast<size_t>(
              (n * size + one.first + int64_t(k)) * inner + i));
          exact += double(value) * one.values[k];
          const double weight = one.values[k] * (1 << bits);
          whole += int64_t(value) *
                   int64_t(weight < 0 ? weight - 0.5 : weight + 0.5);
        }
        if (a.dtype == DType::kUInt8)
          out.numbers.push_back(std::clamp<int64_t>(whole >> bits, 0, 255));
        else
          out.numbers.push_back(float(exact));
      }
  return out;
}

}  // namespace

Tensor Antialiased(const Tensor& a, int64_t height, int64_t width, bool cubic) {
  const size_t axis = a.shape.size() == 2 ? 0 : a.shape.size() - 3;
  int64_t images = 1;
  for (size_t k = 0; k < axis; ++k) images *= a.shape[k];
  const int64_t h = a.shape[axis], w = a.shape[axis + 1];
  const int64_t channels = a.shape.size() == 2 ? 1 : a.shape.back();
  if (h < 1 || w < 1 || channels < 1) throw DataError("resize");
  Tensor out = ResizedAlong(a, images * h, w, channels, width, cubic);
  out = ResizedAlong(out, images, h, width * channels, height, cubic);
  out.shape[axis] = height;
  out.shape[axis + 1] = width;
  return out;
}

std::pair<int64_t, int64_t> SidesAfter(const Expr::Call& call, int64_t height,
                                       int64_t width) {
  const int64_t n = IntegersOf(call.arguments.at(1)).at(0);
  int64_t low = std::min(height, width), high = std::max(height, width);
  if (low < 1) throw DataError("resize");
  const bool longer = call.function == "image.resize_longer";
  const double ratio =
      longer ? double(n * low) / double(high) : double(n * high) / double(low);
  low = longer ? int64_t(ratio) : n;
  high = longer ? n : int64_t(ratio);
  const auto& last = std::get<Expr::Literal>(call.arguments.back().node());
  if (const auto* most = std::get_if<int64_t>(&last.value);
      most != nullptr && high > *most) {
    low = int64_t(double(*most * low) / double(high));
    high = *most;
  }
  if (low < 1) throw DataError("resize");
  return height >= width ? std::pair(high, low) : std::pair(low, high);
}

}  // namespace feedmill::reference
