#include "tests/reference/image_functions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#include <string>
#include <utility>

#include "tests/reference/expression.h"
#include "tests/reference/image_resizing.h"
#include "tests/reference/records.h"
#include "tests/reference/tensor_functions.h"

namespace feedmill::reference {
namespace {

// Pixels in the form [images, height, width, channels]. `images` is the product
// of the dimensions before the height; missing channels count as 1.
struct Pixels {
  int64_t images = 1;
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 1;

  explicit Pixels(const Shape& shape) {
    const size_t rank = shape.size(), at = rank == 2 ? 0 : rank - 3;
    for (size_t k = 0; k < at; ++k) images *= shape[k];
    height = shape[at];
    width = shape[at + 1];
    if (rank > 2) channels = shape[at + 2];
  }
  size_t At(int64_t n, int64_t y, int64_t x, int64_t c) const {
    return static_cast<size_t>(((n * height + y) * width + x) * channels + c);
  }
};

// Returns an image of another size, whose pixel (y, x) is the pixel of `from`
// at source(y, x).
using PixelSource =
    std::function<std::pair<int64_t, int64_t>(int64_t, int64_t)>;
Tensor Picked(const Tensor& a, int64_t height, int64_t width,
              const PixelSource& source) {
  const Pixels from(a.shape);
  Tensor out{a.dtype, a.shape, {}, {}};
  const size_t at = a.shape.size() == 2 ? 0 : a.shape.size() - 3;
  out.shape[at] = height;
  out.shape[at + 1] = width;
  for (int64_t n = 0; n < from.images; ++n)
    for (int64_t y = 0; y < height; ++y)
      for (int64_t x = 0; x < width; ++x)
        for (int64_t c = 0; c < from.channels; ++c) {
          const auto [v, u] = source(y, x);
          if (v < 0 || u < 0 || v >= from.height || u >= from.width)
            throw DataError("beyond the edge of an image");
          const size_t at_source = from.At(n, v, u, c);
          if (a.dtype == DType::kBytes)
            out.strings.push_back(a.strings.at(at_source));
          else
            out.numbers.push_back(a.numbers.at(at_source));
        }
  return out;
}

Tensor Turned(Tensor a, int64_t turns) {
  for (int64_t k = ((turns % 4) + 4) % 4; k > 0; --k) {
    const Pixels p(a.shape);
    a = Picked(a, p.width, p.height, [&](int64_t y, int64_t x) {
      return std::pair(x, p.width - 1 - y);
    });
  }
  return a;
}

Tensor Normalized(const Tensor& a, const Tensor& mean,
                  const Tensor& deviation) {
  Tensor out{DType::kFloat32, a.shape, {}, {}};
  const size_t channels = static_cast<size_t>(a.shape.back());
  const auto of = [&](const Tensor& t, size_t k) {
    const size_t n = t.numbers.size();
    if (n != 1 && n != channels) throw DataError("normalize");
    return static_cast<float>(t.numbers[n == 1 ? 0 : k % channels]);
  };
  for (size_t k = 0; k < a.numbers.size(); ++k) {
    const float difference = static_cast<float>(a.numbers[k]) - of(mean, k);
    out.numbers.push_back(difference / of(deviation, k));
  }
  return out;
}

template <class T>
Tensor ResizedAs(const Tensor& a, int depth, int64_t height, int64_t width,
                 int interpolation) {
  const Pixels p(a.shape);
  if (p.height < 1 || p.width < 1 || p.channels < 1 || p.channels > CV_CN_MAX)
    throw DataError("resize");
  Tensor out = a;
  const size_t at = a.shape.size() == 2 ? 0 : a.shape.size() - 3;
  out.shape[at] = height;
  out.shape[at + 1] = width;
  out.numbers.clear();
  for (int64_t n = 0; n < p.images; ++n) {
    cv::Mat in(static_cast<int>(p.height), static_cast<int>(p.width),
               CV_MAKETYPE(depth, static_cast<int>(p.channels)));
    const size_t size = in.total() * static_cast<size_t>(in.channels());
    for (size_t k = 0; k < size; ++k)
      reinterpret_cast<T*>(in.data)[k] =
          static_cast<T>(a.numbers.at(p.At(n, 0, 0, 0) + k));
    cv::Mat resized;
    cv::resize(in, resized,
               cv::Size(static_cast<int>(width), static_cast<int>(height)), 0,
               0, interpolation);
    for (size_t k = 0;
         k < resized.total() * static_cast<size_t>(resized.channels()); ++k)
      out.numbers.push_back(reinterpret_cast<const T*>(resized.data)[k]);
  }
  return out;
}

Tensor Resized(const Tensor& a, int64_t height, int64_t width,
               const std::string& method) {
  const int interpolation = method == "bilinear"  ? cv::INTER_LINEAR
                            : method == "nearest" ? cv::INTER_NEAREST
                            : method == "area"    ? cv::INTER_AREA
                                                  : cv::INTER_CUBIC;
  switch (a.dtype) {
    case DType::kUInt8:
      return ResizedAs<uint8_t>(a, CV_8U, height, width, interpolation);
    case DType::kUInt16:
      return ResizedAs<uint16_t>(a, CV_16U, height, width, interpolation);
    case DType::kInt16:
      return ResizedAs<int16_t>(a, CV_16S, height, width, interpolation);
    case DType::kFloat32:
      return ResizedAs<float>(a, CV_32F, height, width, interpolation);
    case DType::kFloat64:
      return ResizedAs<double>(a, CV_64F, height, width, interpolation);
    default:
      throw std::logic_error("resize of such pixels");
  }
}

Tensor ChannelsMoved(const Tensor& a, bool to_chw) {
  Tensor out{a.dtype, a.shape, {}, {}};
  const size_t at = a.shape.size() - 3;
  const int64_t d0 = a.shape[at], d1 = a.shape[at + 1], d2 = a.shape[at + 2];
  out.shape[at] = to_chw ? d2 : d1;
  out.shape[at + 1] = to_chw ? d0 : d2;
  out.shape[at + 2] = to_chw ? d1 : d0;
  const int64_t images = Pixels(a.shape).images;
  for (int64_t n = 0; n < images; ++n)
    for (int64_t i = 0; i < out.shape[at]; ++i)
      for (int64_t j = 0; j < out.shape[at + 1]; ++j)
        for (int64_t k = 0; k < out.shape[at + 2]; ++k) {
          const int64_t from = to_chw ? ((n * d0 + j) * d1 + k) * d2 + i
                                      : ((n * d0 + k) * d1 + i) * d2 + j;
          if (a.dtype == DType::kBytes)
            out.strings.push_back(a.strings.at(static_cast<size_t>(from)));
          else
            out.numbers.push_back(a.numbers.at(static_cast<size_t>(from)));
        }
  return out;
}

// Pillow's ImageEnhance and torchvision's adjust_hue, for one RGB image.
int Clipped(double v) { return v <= 0 ? 0 : v >= 255 ? 255 : int(v); }
int Mixed(int degenerate, int value, double factor) {
  const float alpha = static_cast<float>(factor);
  return Clipped(float(degenerate) + alpha * float(value - degenerate));
}
int Grey(const int (&rgb)[3]) {
  return (rgb[0] * 19595 + rgb[1] * 38470 + rgb[2] * 7471 + 0x8000) >> 16;
}

void TurnHue(int (&rgb)[3], double factor) {
  const int r = rgb[0], g = rgb[1], b = rgb[2];
  const int v = std::max({r, g, b}), low = std::min({r, g, b});
  int h = 0, s = 0;
  if (v != low) {
    const float range = float(v - low);
    const float rc = float(v - r) / range, gc = float(v - g) / range,
                bc = float(v - b) / range;
    const float sector = r == v   ? bc - gc
                         : g == v ? float(2.0 + rc - bc)
                                  : float(4.0 + gc - rc);
    const float turn = float(std::fmod(sector / 6.0 + 1.0, 1.0));
    h = Clipped(turn * 255.0);
    s = Clipped(range / float(v) * 255.0);
  }
  h = ((h + int(factor * 255)) % 256 + 256) % 256;
  if (s == 0) {
    rgb[0] = rgb[1] = rgb[2] = v;
    return;
  }
  const double place = float(h) * 6.0 / 255.0;
  const int i = int(std::floor(place));
  const float f = float(place - i), fs = float(s / 255.0);
  const int p = Clipped(std::round(v * (1.0 - fs)));
  const int q = Clipped(std::round(v * (1.0 - fs * f)));
  const int t = Clipped(std::round(v * (1.0 - fs * (1.0 - f))));
  const int sectors[6][3] = {{v, t, p}, {q, v, p}, {p, v, t},
                             {p, q, v}, {t, p, v}, {v, p, q}};
  std::copy_n(sectors[i % 6], 3, rgb);
}

Tensor Adjusted(const std::string& f, const Tensor& a, double factor) {
  const Pixels p(a.shape);
  const bool hue = f == "image.adjust_hue";
  if (p.channels != 3 || !(factor >= (hue ? -0.5 : 0)) ||
      factor > (hue ? 0.5 : 1e6))
    throw DataError("no such adjustment");
  Tensor out{a.dtype, a.shape, {}, {}};
  const size_t pixels = static_cast<size_t>(p.height * p.width);
  const auto at = [&](size_t pixel) {
    return std::array{static_cast<int>(a.numbers[pixel * 3]),
                      static_cast<int>(a.numbers[pixel * 3 + 1]),
                      static_cast<int>(a.numbers[pixel * 3 + 2])};
  };
  for (size_t n = 0; n < static_cast<size_t>(p.images); ++n) {
    double sum = 0;
    for (size_t k = n * pixels; k < (n + 1) * pixels; ++k) {
      const auto [r, g, b] = at(k);
      sum += Grey({r, g, b});
    }
    const int mean = pixels == 0 ? 0 : int(sum / double(pixels) + 0.5);
    for (size_t k = n * pixels; k < (n + 1) * pixels; ++k) {
      const auto [r, g, b] = at(k);
      int rgb[3] = {r, g, b};
      const int grey = f == "image.adjust_brightness" ? 0
                       : f == "image.adjust_contrast" ? mean
                                                      : Grey(rgb);
      if (hue) TurnHue(rgb, factor);
      for (const int v : rgb)
        out.numbers.push_back(hue ? v : Mixed(grey, v, factor));
    }
  }
  return out;
}

// Pillow's Image.transform: pixel (x, y) comes from (m[0] x + m[1] y + m[2],
// m[3] x + m[4] y + m[5]).
using Matrix = std::array<double, 6>;
Tensor Moved(const Tensor& a, const Matrix& m, bool bilinear) {
  for (const double v : m)
    if (!(std::abs(v) <= 1e9)) throw DataError("affine");
  const Pixels p(a.shape);
  const auto number = [&](int64_t n, int64_t y, int64_t x, int64_t k) {
    y = std::clamp<int64_t>(y, 0, p.height - 1);
    x = std::clamp<int64_t>(x, 0, p.width - 1);
    return a.numbers.at(p.At(n, y, x, k));
  };
  const auto mixed = [&](long double from, long double to, double way) {
    const double step = a.dtype == DType::kFloat32
                            ? double(float(to) - float(from))
                            : double(to - from);
    return double(from) + step * way;
  };
  const auto fixed = [](double v) {
    return static_cast<int64_t>(std::floor(v * 65536.0 + 0.5));
  };
  Tensor out{a.dtype, a.shape, {}, {}};
  for (int64_t n = 0; n < p.images; ++n)
    for (int64_t v = 0; v < p.height; ++v)
      for (int64_t u = 0; u < p.width; ++u) {
        const double column = double(u) + 0.5, row = double(v) + 0.5;
        double x = m[0] * column + m[1] * row + m[2];
        double y = m[3] * column + m[4] * row + m[5];
        if (!bilinear && m[1] == 0 && m[3] == 0) {
          x = m[2] + m[0] * 0.5;
          y = m[5] + m[4] * 0.5;
          for (int64_t k = 0; k < u; ++k) x += m[0];
          for (int64_t k = 0; k < v; ++k) y += m[4];
        } else if (!bilinear) {
          x = double((fixed(m[2] + m[0] * 0.5 + m[1] * 0.5) + u * fixed(m[0]) +
                      v * fixed(m[1])) >>
                     16);
          y = double((fixed(m[5] + m[3] * 0.5 + m[4] * 0.5) + u * fixed(m[3]) +
                      v * fixed(m[4])) >>
                     16);
        }
        const bool in =
            x >= 0 && y >= 0 && x < double(p.width) && y < double(p.height);
        const double left = std::floor(x - 0.5), top = std::floor(y - 0.5);
        for (int64_t k = 0; k < p.channels; ++k) {
          const auto at = [&](int64_t dy, int64_t dx) {
            return number(n, int64_t(top) + dy, int64_t(left) + dx, k);
          };
          if (!in) {
            out.numbers.push_back(0);
          } else if (!bilinear) {
            out.numbers.push_back(number(n, int64_t(y), int64_t(x), k));
          } else {
            const double way = x - 0.5 - left;
            const double made =
                mixed(mixed(at(0, 0), at(0, 1), way),
                      mixed(at(1, 0), at(1, 1), way), y - 0.5 - top);
            out.numbers.push_back(a.dtype == DType::kFloat64 ? made
                                  : a.dtype == DType::kFloat32
                                      ? float(made)
                                      : std::trunc(made));
          }
        }
      }
  return out;
}

// Pillow's Image.rotate.
Matrix RotationOf(double degrees, const Pixels& p) {
  if (!std::isfinite(degrees)) throw DataError("rotate");
  const double angle = -(std::fmod(std::fmod(degrees, 360.0) + 360.0, 360.0) *
                         (3.14159265358979323846 / 180.0));
  const auto rounded = [](double v) {
    char text[64];
    std::snprintf(text, sizeof text, "%.15f", v);
    return std::strtod(text, nullptr);
  };
  const double c = rounded(std::cos(angle)), s = rounded(std::sin(angle));
  const double half_w = double(p.width) / 2, half_h = double(p.height) / 2;
  const double x_at_0 = c * -half_w + s * -half_h + half_w;
  const double y_at_0 = -s * -half_w + c * -half_h + half_h;
  return {c, s, x_at_0, -s, c, y_at_0};
}

// torchvision's _get_inverse_affine_matrix.
Matrix AffineOf(const std::array<double, 6>& n, double middle_x,
                double middle_y) {
  const auto [degrees, right, down, scale, shear_x, shear_y] = n;
  for (const double v : n)
    if (!std::isfinite(v)) throw DataError("affine");
  if (scale <= 0) throw DataError("affine");
  const double radians = 3.14159265358979323846 / 180.0;
  const double t = degrees * radians, x = shear_x * radians,
               y = shear_y * radians;
  const double a = std::cos(t - y) / std::cos(y);
  const double b = -std::cos(t - y) * std::tan(x) / std::cos(y) - std::sin(t);
  const double c = std::sin(t - y) / std::cos(y);
  const double d = -std::sin(t - y) * std::tan(x) / std::cos(y) + std::cos(t);
  Matrix m = {d / scale, -b / scale, 0, -c / scale, a / scale, 0};
  for (const size_t k : {size_t{0}, size_t{3}}) {
    m[k + 2] = m[k] * (-middle_x - right) + m[k + 1] * (-middle_y - down);
    m[k + 2] += k == 0 ? middle_x : middle_y;
  }
  return m;
}

// image.rotate, affine, shear and translate.
Tensor MovedAs(const Expr::Call& call, const Tensor& a,
               const std::function<Tensor(size_t)>& argument) {
  const std::string& f = call.function;
  const auto n = [&](size_t k) {
    return static_cast<double>(argument(k).numbers.at(0));
  };
  const Pixels p(a.shape);
  double x = double(p.width) * 0.5, y = double(p.height) * 0.5;
  if (call.arguments.size() > 8) {
    const Tensor about = argument(8);
    x = double(about.numbers.at(0));
    y = double(about.numbers.at(1));
  }
  Matrix m{};
  if (f == "image.rotate") m = RotationOf(n(1), p);
  if (f == "image.shear") m = AffineOf({0, 0, 0, 1, n(1), n(2)}, x, y);
  if (f == "image.translate") m = AffineOf({0, n(1), n(2), 1, 0, 0}, x, y);
  if (f == "image.affine")
    m = AffineOf({n(1), n(2), n(3), n(4), n(5), n(6)}, x, y);
  const size_t last = call.arguments.size() > 8 ? 7 : call.arguments.size() - 1;
  const auto& method =
      std::get<Expr::Literal>(call.arguments[last].node()).value;
  return Moved(a, m, std::get<std::string>(method) == "bilinear");
}

// torchvision's gaussian_blur: sums in float32, along x and then along y.
Tensor Blurred(const Tensor& a, int64_t size, double sigma) {
  const Pixels p(a.shape);
  if (!(sigma > 0) || !std::isfinite(sigma)) throw DataError("blur");
  if (a.numbers.empty()) return a;
  if (std::min(p.height, p.width) <= size / 2) throw DataError("blur");
  std::vector<double> weights;
  double total = 0;
  for (int64_t k = 0; k < size; ++k) {
    const double last = double(size - 1);
    const double x =
        size > 1 ? last / (2 * std::sqrt(2.0)) * (2 * double(k) / last - 1) : 0;
    weights.push_back(std::exp(-(x / sigma) * (x / sigma)));
    total += weights.back();
  }
  const auto mirrored = [](int64_t k, int64_t n) {
    k = std::abs(k);
    return k < n ? k : 2 * (n - 1) - k;
  };
  Tensor out = a;
  for (const bool down : {false, true}) {
    const Tensor from = out;
    for (int64_t n = 0; n < p.images; ++n)
      for (int64_t y = 0; y < p.height; ++y)
        for (int64_t x = 0; x < p.width; ++x)
          for (int64_t c = 0; c < p.channels; ++c) {
            float sum = 0;
            for (int64_t k = 0; k < size; ++k) {
              const int64_t off = k - size / 2;
              const size_t at = down
                                    ? p.At(n, mirrored(y + off, p.height), x, c)
                                    : p.At(n, y, mirrored(x + off, p.width), c);
              const float product = float(weights[size_t(k)] / total) *
                                    float(from.numbers.at(at));
              sum += product;
            }
            const bool rounds = down && a.dtype == DType::kUInt8;
            out.numbers[p.At(n, y, x, c)] =
                rounds ? std::clamp(std::nearbyint(sum), 0.0F, 255.0F) : sum;
          }
  }
  return out;
}

// Pillow's ImageOps, for one channel: what becomes of each value.
std::array<int, 256> ChannelTable(const std::string& f,
                                  const std::array<int64_t, 256>& histogram) {
  std::array<int, 256> table{};
  int low = 256, high = -1;
  int64_t sum = 0;
  for (int v = 0; v < 256; ++v) {
    const int64_t count = histogram[static_cast<size_t>(v)];
    sum += count;
    if (count > 0) low = std::min(low, v);
    if (count > 0) high = v;
  }
  const int64_t last = high < 0 ? 0 : histogram[static_cast<size_t>(high)];
  const int64_t step = (sum - last) / 255;
  int64_t before = step / 2;
  for (int v = 0; v < 256; ++v) {
    int& to = table[static_cast<size_t>(v)] = v;
    if (f == "image.autocontrast" && high > low) {
      const double scale = 255.0 / (high - low);
      to = std::clamp(int(v * scale + -low * scale), 0, 255);
    }
    if (f == "image.equalize" && high > low && step > 0) {
      to = int(std::min<int64_t>(before / step, 255));
      before += histogram[static_cast<size_t>(v)];
    }
  }
  return table;
}

// Pillow's ImageOps and ImageEnhance.Sharpness.
Tensor Operated(const std::string& f, const Tensor& a, double factor) {
  const Pixels p(a.shape);
  const double most = f == "image.posterize"  ? 8
                      : f == "image.solarize" ? 256
                                              : 1e6;
  if (p.channels != 3 || !(factor >= 0) || factor > most)
    throw DataError("no such operation");
  const auto value = [&](int64_t n, int64_t y, int64_t x, int64_t k) {
    return int(a.numbers.at(p.At(n, y, x, k)));
  };
  Tensor out{a.dtype, a.shape, {}, {}};
  for (int64_t n = 0; n < p.images; ++n) {
    std::array<std::array<int64_t, 256>, 3> histograms{};
    for (int64_t y = 0; y < p.height; ++y)
      for (int64_t x = 0; x < p.width; ++x)
        for (int64_t k = 0; k < 3; ++k)
          ++histograms.at(size_t(k)).at(size_t(value(n, y, x, k)));
    const auto made = [&](int64_t y, int64_t x, int64_t k) -> int {
      const int v = value(n, y, x, k);
      if (f == "image.invert") return 255 - v;
      if (f == "image.posterize") {
        const int unit = 1 << (8 - int(factor));
        return v / unit * unit;
      }
      if (f == "image.solarize") return v < factor ? v : 255 - v;
      if (f == "image.grayscale")
        return Grey({value(n, y, x, 0), value(n, y, x, 1), value(n, y, x, 2)});
      if (f != "image.adjust_sharpness")
        return ChannelTable(f, histograms.at(size_t(k))).at(size_t(v));
      if (y == 0 || x == 0 || y == p.height - 1 || x == p.width - 1) return v;
      float smooth = 0.5F;
      for (const int64_t dy : {1, 0, -1}) {
        float line = 0;
        for (const int64_t dx : {-1, 0, 1})
          line += float(value(n, y + dy, x + dx, k)) *
                  ((dx == 0 && dy == 0 ? 5.0F : 1.0F) / 13.0F);
        smooth += line;
      }
      return Mixed(Clipped(smooth), v, factor);
    };
    for (int64_t y = 0; y < p.height; ++y)
      for (int64_t x = 0; x < p.width; ++x)
        for (int64_t k = 0; k < 3; ++k) out.numbers.push_back(made(y, x, k));
  }
  return out;
}

// torchvision's CutMix: of the whole batch, or the share that remains.
Tensor CutMixed(const std::string& f, const Tensor& batch, double lambda,
                double u, double v) {
  for (const double number : {lambda, u, v})
    if (!(number >= 0 && number <= 1)) throw DataError("image.cutmix");
  const size_t rank = batch.shape.size();
  const int64_t h = batch.shape[rank - 3], w = batch.shape[rank - 2];
  const int64_t c = batch.shape[rank - 1], each = h * w * c;
  const double r = 0.5 * std::sqrt(1 - lambda);
  const auto half = [&](int64_t n) {
    return static_cast<int64_t>(r * static_cast<double>(n));
  };
  const auto centre = [](double place, int64_t n) {
    return std::min(static_cast<int64_t>(place * static_cast<double>(n)),
                    n - 1);
  };
  const int64_t x = centre(u, w), y = centre(v, h);
  int64_t inside = 0;
  Tensor out = batch;
  const auto count = static_cast<int64_t>(batch.numbers.size());
  for (int64_t k = 0; k < std::max<int64_t>(count, 1) && each > 0; ++k) {
    const int64_t column = k / c % w, row = k / c / w % h;
    if (column < x - half(w) || column >= x + half(w) || row < y - half(h) ||
        row >= y + half(h))
      continue;
    if (k < each && k % c == 0) ++inside;
    out.numbers.at(size_t(k)) =
        batch.numbers.at(size_t((k + count - each) % count));
  }
  if (f == "image.cutmix") return out;
  return {DType::kFloat64,
          {},
          {1 - static_cast<double>(inside) /
                   static_cast<double>(std::max<int64_t>(h * w, 1))},
          {}};
}

Tensor Decoded(const Expr::Call& call, const std::string& bytes) {
  DecodeImageStep step;
  std::vector<int64_t> at_least;
  const size_t given = call.arguments.size();
  if (given > 1) step.channels = IntegersOf(call.arguments.at(1)).at(0);
  for (size_t k = 2; k < given; ++k) {
    const auto* literal =
        std::get_if<Expr::Literal>(&call.arguments.at(k).node());
    const auto* word = literal == nullptr
                           ? nullptr
                           : std::get_if<std::string>(&literal->value);
    if (word == nullptr)
      at_least = IntegersOf(call.arguments.at(k));
    else if (*word == "fast")
      step.dct = DecodeImageStep::Dct::kFast;
    else if (*word == "uint16")
      step.dtype = DecodeImageStep::Dtype::kUInt16;
    else if (*word == "apply_exif_orientation")
      step.apply_exif_orientation = true;
  }
  return DecodeImage(bytes, step, at_least);
}

}  // namespace

std::optional<Tensor> ImageFunction(
    const Expr::Call& call, const std::function<Tensor(size_t)>& argument) {
  const std::string& f = call.function;
  if (!f.starts_with("image.")) return std::nullopt;
  const Tensor a = argument(0);
  if (f == "image.decode") return Decoded(call, a.strings.at(0));
  if (f == "image.cutmix" || f == "image.cutmix_share")
    return CutMixed(f, a, static_cast<double>(argument(1).numbers.at(0)),
                    static_cast<double>(argument(2).numbers.at(0)),
                    static_cast<double>(argument(3).numbers.at(0)));
  if (f == "image.normalize") return Normalized(a, argument(1), argument(2));
  if (f == "image.to_chw" || f == "image.to_hwc")
    return ChannelsMoved(a, f == "image.to_chw");
  constexpr std::array kWithFactor = {"image.adjust_sharpness",
                                      "image.posterize", "image.solarize"};
  constexpr std::array kWithout = {"image.invert", "image.grayscale",
                                   "image.autocontrast", "image.equalize"};
  if (std::count(kWithFactor.begin(), kWithFactor.end(), f) > 0)
    return Operated(f, a, static_cast<double>(argument(1).numbers.at(0)));
  if (std::count(kWithout.begin(), kWithout.end(), f) > 0)
    return Operated(f, a, 0);
  if (f.starts_with("image.adjust_"))
    return Adjusted(f, a, static_cast<double>(argument(1).numbers.at(0)));
  const auto integer = [&](size_t k) {
    return IntegersOf(call.arguments.at(k)).at(0);
  };
  constexpr std::array kMoves = {"image.rotate", "image.affine", "image.shear",
                                 "image.translate"};
  if (std::count(kMoves.begin(), kMoves.end(), f) > 0)
    return MovedAs(call, a, argument);
  if (f == "image.gaussian_blur")
    return Blurred(a, integer(1),
                   static_cast<double>(argument(2).numbers.at(0)));
  const Pixels p(a.shape);
  if (f == "image.flip_left_right")
    return Picked(a, p.height, p.width, [&](int64_t y, int64_t x) {
      return std::pair(y, p.width - 1 - x);
    });
  if (f == "image.flip_up_down")
    return Picked(a, p.height, p.width, [&](int64_t y, int64_t x) {
      return std::pair(p.height - 1 - y, x);
    });
  if (f == "image.rot90") return Turned(a, integer(1));
  if (f == "image.crop")
    return Picked(a, integer(3), integer(4), [&](int64_t y, int64_t x) {
      return std::pair(integer(1) + y, integer(2) + x);
    });
  if (f == "image.pad") {
    const double value =
        call.arguments.size() > 5 ? double(argument(5).numbers.at(0)) : 0;
    Tensor out{a.dtype, a.shape, {}, {}};
    const size_t axis = a.shape.size() == 2 ? 0 : a.shape.size() - 3;
    out.shape[axis] += integer(1) + integer(3);
    out.shape[axis + 1] += integer(2) + integer(4);
    const Pixels to(out.shape);
    for (int64_t n = 0; n < to.images; ++n)
      for (int64_t y = 0; y < to.height; ++y)
        for (int64_t x = 0; x < to.width; ++x)
          for (int64_t k = 0; k < to.channels; ++k) {
            const int64_t from_y = y - integer(1), from_x = x - integer(2);
            const bool in = from_y >= 0 && from_x >= 0 && from_y < p.height &&
                            from_x < p.width;
            out.numbers.push_back(in ? a.numbers.at(p.At(n, from_y, from_x, k))
                                     : value);
          }
    return out;
  }
  if (f == "image.central_crop") {
    const int64_t h = integer(1), w = integer(2);
    if (h > p.height || w > p.width) throw DataError("central_crop");
    return Picked(a, h, w, [&](int64_t y, int64_t x) {
      return std::pair((p.height - h) / 2 + y, (p.width - w) / 2 + x);
    });
  }
  const auto text = [&](size_t k) {
    const auto* literal =
        k < call.arguments.size()
            ? std::get_if<Expr::Literal>(&call.arguments[k].node())
            : nullptr;
    const auto* word =
        literal ? std::get_if<std::string>(&literal->value) : nullptr;
    return word ? *word : "";
  };
  if (f.starts_with("image.resize")) {
    const bool both = f == "image.resize";
    const auto [h, w] = both ? std::pair(integer(1), integer(2))
                             : SidesAfter(call, p.height, p.width);
    const std::string method = text(both ? 3 : 2);
    return text(both ? 4 : 3) == "antialias"
               ? Antialiased(a, h, w, method == "cubic")
               : Resized(a, h, w, method);
  }
  throw std::logic_error("unknown function " + f);
}

}  // namespace feedmill::reference
