#include "tests/reference/random_functions.h"

#include <cmath>
#include <string>
#include <utility>

#include "tests/reference/augmentations.h"
#include "tests/reference/expression.h"
#include "tests/reference/random_numbers.h"
#include "tests/reference/tensor_functions.h"

namespace feedmill::reference {
namespace {

bool IsRandom(const std::string& f) {
  return f.starts_with("random.") || f == "image.random_crop" ||
         f == "image.random_resized_crop" || f == "image.random_erase" ||
         f.find("_augment") != std::string::npos;
}

struct CallBits {
  uint64_t first, second;
};
CallBits BitsOf(const Expr::Call& call) {
  uint64_t words[4];
  for (size_t k = 0; k < 4; ++k)
    words[k] = static_cast<uint64_t>(std::get<int64_t>(
        std::get<Expr::Literal>(call.arguments.at(k).node()).value));
  return {words[0] | words[1] << 32, words[2] | words[3] << 32};
}

std::array<uint32_t, 4> Block(CallBits bits, uint64_t k) {
  return Words(Key{bits.first, 0}, k, bits.second);
}

int64_t Below(uint64_t random, int64_t n) {
  return static_cast<int64_t>(
      (static_cast<unsigned __int128>(random) * static_cast<uint64_t>(n)) >>
      64);
}

double Over(double r, const double (&a)[8]) {
  return ((((((a[7] * r + a[6]) * r + a[5]) * r + a[4]) * r + a[3]) * r +
           a[2]) *
              r +
          a[1]) *
             r +
         a[0];
}
double Under(double r, const double (&b)[7]) {
  return ((((((b[6] * r + b[5]) * r + b[4]) * r + b[3]) * r + b[2]) * r +
           b[1]) *
              r +
          b[0]) *
             r +
         1.0;
}

// Wichura's AS 241, PPND16.
double Ppnd16(double p) {
  static const double a[8] = {3.3871328727963666080e0, 1.3314166789178437745e2,
                              1.9715909503065514427e3, 1.3731693765509461125e4,
                              4.5921953931549871457e4, 6.7265770927008700853e4,
                              3.3430575583588128105e4, 2.5090809287301226727e3};
  static const double b[7] = {4.2313330701600911252e1, 6.8718700749205790830e2,
                              5.3941960214247511077e3, 2.1213794301586595867e4,
                              3.9307895800092710610e4, 2.8729085735721942674e4,
                              5.2264952788528545610e3};
  static const double c[8] = {
      1.42343711074968357734e0,  4.63033784615654529590e0,
      5.76949722146069140550e0,  3.64784832476320460504e0,
      1.27045825245236838258e0,  2.41780725177450611770e-1,
      2.27238449892691845833e-2, 7.74545014278341407640e-4};
  static const double d[7] = {
      2.05319162663775882187e0,  1.67638483018380384940e0,
      6.89767334985100004550e-1, 1.48103976427480074590e-1,
      1.51986665636164571966e-2, 5.47593808499534494600e-4,
      1.05075007164441684324e-9};
  static const double e[8] = {
      6.65790464350110377720e0,  5.46378491116411436990e0,
      1.78482653991729133580e0,  2.96560571828504891230e-1,
      2.65321895265761230930e-2, 1.24266094738807843860e-3,
      2.71155556874348757815e-5, 2.01033439929228813265e-7};
  static const double f[7] = {
      5.99832206555887937690e-1, 1.36929880922735805310e-1,
      1.48753612908506148525e-2, 7.86869131145613259100e-4,
      1.84631831751005468180e-5, 1.42151175831644588870e-7,
      2.04426310338993978564e-15};
  const double q = p - 0.5;
  if (std::fabs(q) <= 0.425) {
    const double r = 0.180625 - q * q;
    return q * Over(r, a) / Under(r, b);
  }
  const double r = std::sqrt(-std::log(q < 0 ? p : 1.0 - p));
  const double x = r <= 5.0 ? Over(r - 1.6, c) / Under(r - 1.6, d)
                            : Over(r - 5.0, e) / Under(r - 5.0, f);
  return q < 0 ? -x : x;
}

// Returns one item of random.uniform, .integers or .normal.
long double RandomItem(const std::string& f, uint64_t bits, long double a,
                       long double b) {
  if (f == "random.integers") {
    if (a >= b) throw DataError("no integers in between");
    const auto range = static_cast<uint64_t>(b - a);
    return a + static_cast<long double>(
                   (static_cast<unsigned __int128>(bits) * range) >> 64);
  }
  const double low = static_cast<double>(a), high = static_cast<double>(b);
  if (f == "random.uniform") {
    const double unit = std::ldexp(static_cast<double>(bits >> 11), -53);
    const double range = high - low;
    const double offset = range * unit;
    return low + offset;
  }
  const double p = std::ldexp(static_cast<double>(bits >> 12) + 0.5, -52);
  const double scaled = high * Ppnd16(p);
  return low + scaled;
}

double Open(uint64_t bits) {
  return std::ldexp(static_cast<double>(bits >> 12) + 0.5, -52);
}

// A gamma variable of Marsaglia and Tsang.
double GammaOf(CallBits bits, uint64_t parity, double boost, double shape) {
  const double d = (shape < 1 ? shape + 1 : shape) - 1.0 / 3.0;
  const double factor = shape < 1 ? std::exp(std::log(boost) / shape) : 1;
  for (uint64_t t = parity;; t += 2) {
    const auto w = Block(bits, t);
    const double x = Ppnd16(Open(w[2] | uint64_t{w[3]} << 32));
    const double root = 1 + 1 / std::sqrt(9 * d) * x;
    if (root <= 0) continue;
    const double cube = root * root * root;
    if (std::log(Open(w[0] | uint64_t{w[1]} << 32)) <
        0.5 * x * x + d - d * cube + d * std::log(cube))
      return factor * (d * cube);
  }
}

double BetaOf(CallBits bits, double a, double b) {
  if (!(a >= 1e-100 && b >= 1e-100 && std::isfinite(a + b)))
    throw DataError("random.beta");
  if (a > 1 || b > 1) {
    const double x = GammaOf(bits, 0, Open(bits.first), a);
    return x / (x + GammaOf(bits, 1, Open(bits.second), b));
  }
  for (uint64_t t = 0;; ++t) {
    const auto w = Block(bits, t);
    const double x = std::log(Open(w[0] | uint64_t{w[1]} << 32)) / a;
    const double y = std::log(Open(w[2] | uint64_t{w[3]} << 32)) / b;
    if (std::exp(x) + std::exp(y) <= 1) return 1 / (1 + std::exp(y - x));
  }
}

Tensor Numbers(const Expr::Call& call,
               const std::function<Tensor(size_t)>& argument) {
  const std::string& f = call.function;
  const bool whole = f == "random.integers";
  Tensor out{whole ? DType::kInt64 : DType::kFloat64, {}, {}, {}};
  long double a = 0, b = 1;
  if (call.arguments.size() > 4) {
    a = argument(4).numbers.at(0);
    b = argument(5).numbers.at(0);
    if (!whole) {
      a = static_cast<double>(a);
      b = static_cast<double>(b);
    }
  }
  const CallBits bits = BitsOf(call);
  if (f == "random.beta") {
    out.numbers = {
        BetaOf(bits, static_cast<double>(a), static_cast<double>(b))};
    return out;
  }
  if (call.arguments.size() < 7) {
    out.numbers = {RandomItem(f, bits.first, a, b)};
    return out;
  }
  uint64_t items = 1;
  for (const int64_t dim : IntegersOf(call.arguments[6])) {
    out.shape.push_back(dim);
    items *= static_cast<uint64_t>(dim);
  }
  for (uint64_t k = 0; k < items; ++k) {
    const auto block = Block(bits, k);
    out.numbers.push_back(
        RandomItem(f, block[0] | uint64_t{block[1]} << 32, a, b));
  }
  return out;
}

std::pair<int64_t, int64_t> SizeOf(const Tensor& image) {
  const size_t rank = image.shape.size(), at = rank == 2 ? 0 : rank - 3;
  return {image.shape[at], image.shape[at + 1]};
}

Expr Cropped(const Expr& image, int64_t top, int64_t left, int64_t height,
             int64_t width) {
  return Expr::Apply("image.crop",
                     {image, Expr(top), Expr(left), Expr(height), Expr(width)});
}

// True if the last argument is 'antialias'.
bool Antialiases(const Expr::Call& call) {
  const auto* last = std::get_if<Expr::Literal>(&call.arguments.back().node());
  return last != nullptr && std::holds_alternative<std::string>(last->value);
}

double Written(const Expr::Call& call, size_t k, double otherwise) {
  if (k >= call.arguments.size() - (Antialiases(call) ? 1 : 0))
    return otherwise;
  const auto& value = std::get<Expr::Literal>(call.arguments[k].node()).value;
  if (auto* i = std::get_if<int64_t>(&value)) return static_cast<double>(*i);
  return std::get<double>(value);
}

// torchvision's RandomErasing.
Tensor Erased(const Expr::Call& call, Tensor image) {
  const auto [h, w] = SizeOf(image);
  const CallBits bits = BitsOf(call);
  const double scales[2] = {Written(call, 6, 0.02), Written(call, 7, 0.33)};
  const double logs[2] = {std::log(Written(call, 8, 0.3)),
                          std::log(Written(call, 9, 3.3))};
  if (std::ldexp(double(bits.first >> 11), -53) >= Written(call, 5, 0.5))
    return image;
  const int64_t channels = image.shape.size() > 2 ? image.shape.back() : 1;
  for (uint64_t t = 0; t < 10; ++t) {
    const auto words = Block(bits, t);
    const double scale =
        scales[0] + (scales[1] - scales[0]) * std::ldexp(words[0], -32);
    const double area = double(h) * double(w) * scale;
    const double ratio =
        std::exp(logs[0] + (logs[1] - logs[0]) * std::ldexp(words[1], -32));
    const auto eh =
        static_cast<int64_t>(std::nearbyint(std::sqrt(area * ratio)));
    const auto ew =
        static_cast<int64_t>(std::nearbyint(std::sqrt(area / ratio)));
    if (eh >= h || ew >= w) continue;
    const int64_t top = Below(uint64_t{words[2]} << 32, h - eh + 1);
    const int64_t left = Below(uint64_t{words[3]} << 32, w - ew + 1);
    for (size_t k = 0; k < image.numbers.size(); ++k) {
      const auto pixel = static_cast<int64_t>(k) / channels;
      const int64_t x = pixel % w, y = pixel / w % h;
      if (y >= top && y < top + eh && x >= left && x < left + ew)
        image.numbers[k] = 0;
    }
    break;
  }
  return image;
}

// torchvision's RandomResizedCrop.get_params.
Expr RandomPart(const Expr::Call& call, const Tensor& image) {
  const Expr& written = call.arguments.at(4);
  const auto [h, w] = SizeOf(image);
  if (h < 1 || w < 1) throw DataError("no pixels");
  const double height = static_cast<double>(h), width = static_cast<double>(w);
  const double scales[2] = {Written(call, 7, 0.08), Written(call, 8, 1.0)};
  const double ratios[2] = {Written(call, 9, 3.0 / 4.0),
                            Written(call, 10, 4.0 / 3.0)};
  const double logs[2] = {std::log(ratios[0]), std::log(ratios[1])};
  const CallBits bits = BitsOf(call);
  for (uint64_t t = 0; t < 10; ++t) {
    const auto words = Block(bits, t);
    const double scale =
        scales[0] + (scales[1] - scales[0]) * std::ldexp(words[0], -32);
    const double area = height * width * scale;
    const double ratio =
        std::exp(logs[0] + (logs[1] - logs[0]) * std::ldexp(words[1], -32));
    const auto ph =
        static_cast<int64_t>(std::nearbyint(std::sqrt(area / ratio)));
    const auto pw =
        static_cast<int64_t>(std::nearbyint(std::sqrt(area * ratio)));
    if (ph < 1 || pw < 1 || ph > h || pw > w) continue;
    return Cropped(written, Below(uint64_t{words[2]} << 32, h - ph + 1),
                   Below(uint64_t{words[3]} << 32, w - pw + 1), ph, pw);
  }
  int64_t ph = h, pw = w;
  if (width / height < ratios[0])
    ph = std::max<int64_t>(
        1, static_cast<int64_t>(std::nearbyint(width / ratios[0])));
  else if (width / height > ratios[1])
    pw = std::max<int64_t>(
        1, static_cast<int64_t>(std::nearbyint(height * ratios[1])));
  return Cropped(written, (h - ph) / 2, (w - pw) / 2, ph, pw);
}

}  // namespace

Expr WithDraws(const Expr& expr,
               const std::function<std::array<uint32_t, 4>(uint64_t)>& draw,
               uint64_t& next) {
  const auto* call = std::get_if<Expr::Call>(&expr.node());
  if (call == nullptr) return expr;
  std::vector<Expr> arguments;
  if (IsRandom(call->function))
    for (const uint32_t word : draw(next++))
      arguments.emplace_back(int64_t{word});
  for (const Expr& argument : call->arguments)
    arguments.push_back(WithDraws(argument, draw, next));
  return Expr::Apply(call->function, std::move(arguments));
}

std::optional<Tensor> RandomFunction(
    const Expr::Call& call, const std::function<Tensor(size_t)>& argument,
    const std::function<Tensor(const Expr&)>& evaluate) {
  const std::string& f = call.function;
  if (!IsRandom(f)) return std::nullopt;
  if (f.starts_with("random.")) return Numbers(call, argument);
  const Tensor image = argument(4);
  if (f == "image.random_erase") return Erased(call, image);
  if (f.find("_augment") != std::string::npos) {
    const CallBits bits = BitsOf(call);
    const auto [h, w] = SizeOf(image);
    return evaluate(Augmented(call, h, w, bits.first,
                              [&](uint64_t k) { return Block(bits, k); }));
  }
  const int64_t height = IntegersOf(call.arguments.at(5)).at(0);
  const int64_t width = IntegersOf(call.arguments.at(6)).at(0);
  if (f == "image.random_resized_crop") {
    std::vector<Expr> resize = {RandomPart(call, image), Expr(height),
                                Expr(width), Expr("bilinear")};
    if (Antialiases(call)) resize.emplace_back("antialias");
    return evaluate(Expr::Apply("image.resize", std::move(resize)));
  }
  const auto [h, w] = SizeOf(image);
  if (height > h || width > w) throw DataError("beyond the edge of an image");
  const CallBits bits = BitsOf(call);
  return evaluate(Cropped(call.arguments[4], Below(bits.first, h - height + 1),
                          Below(bits.second, w - width + 1), height, width));
}

}  // namespace feedmill::reference
