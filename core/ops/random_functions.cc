#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/ops/function_families.h"
#include "core/ops/random_bits.h"
#include "core/ops/row_items.h"

// Random numbers for each row. docs/semantics/random.md has the formulas.

namespace feedmill {
namespace {

// The arguments after the random bits.
using Types = std::span<const ValueType>;

absl::Status CheckScalar(std::string_view function, const ValueType& type) {
  if (type.dtype != DType::kBytes && type.shape.empty()) {
    return absl::OkStatus();
  }
  return InvalidArgument("{}: a bound is one number, not {}{}", function,
                         DTypeName(type.dtype), ShapeToString(type.shape));
}

// Returns the shape of the random numbers: a constant list, or one number.
absl::StatusOr<Shape> SizeOf(std::string_view function, const ValueType& type) {
  FM_ASSIGN_OR_RETURN(
      Shape size,
      ConstantIntegers(fmt::format("{}: the size", function), type));
  int64_t items = 1;
  for (const int64_t dim : size) {
    constexpr int64_t kItemsMax = int64_t{1} << 31;
    if (dim < 0 || dim > kItemsMax || (items *= dim) > kItemsMax) {
      return InvalidArgument("{}: the size {} is out of range, 0 to 2^31 items",
                             function, ShapeToString(size));
    }
  }
  return size;
}

// Infers f(), f(low, high) or f(low, high, size).
absl::StatusOr<ValueType> InferRandomNumbers(
    std::string_view function, DType dtype, const std::vector<ValueType>& given,
    bool may_have_no_bounds) {
  const Types types = Types(given).subspan(1);
  ValueType result;
  result.dtype = dtype;
  if (types.empty() && may_have_no_bounds) return result;
  if (types.size() != 2 && types.size() != 3) {
    return InvalidArgument("{} takes two numbers and perhaps a size, not {}{}",
                           function, types.size(),
                           types.size() == 1 ? " argument" : " arguments");
  }
  for (const ValueType& type : types.first(2)) {
    FM_RETURN_IF_ERROR(CheckScalar(function, type));
  }
  if (types.size() == 3) {
    FM_ASSIGN_OR_RETURN(result.shape, SizeOf(function, types[2]));
  }
  return result;
}

// Calls draw(bits of an item, T& item), which returns a Status, for each item
// of each row. Checks the row's two bounds first.
template <class T, class F>
absl::Status DrawRows(std::span<const Argument> arguments, size_t rows,
                      const ValueType& type, OutputColumn& out,
                      std::pair<T, T> bounds, const F& draw) {
  StartRows(type, false, out);
  const auto items = static_cast<size_t>(NumItems(type.shape));
  T* to = reinterpret_cast<T*>(out.values.Extend(rows * items * sizeof(T)));
  const bool sized = arguments.size() == 4;
  for (size_t row = 0; row < rows; ++row) {
    if (arguments.size() > 1) {
      bounds = {NumberAt<T>(arguments[1], row), NumberAt<T>(arguments[2], row)};
    }
    const RandomBits bits(arguments[0], row);
    for (size_t k = 0; k < items; ++k) {
      absl::Status status =
          draw(sized ? bits.OfItem(k) : bits.First(), bounds, *to++);
      if (status.ok()) continue;
      out.failed_row = row;
      return status;
    }
  }
  return absl::OkStatus();
}

// ---- uniform

constexpr std::string_view kUniform = "random.uniform";

absl::StatusOr<ValueType> InferUniform(const std::vector<ValueType>& given) {
  return InferRandomNumbers(kUniform, DType::kFloat64, given, true);
}

absl::Status ComputeUniform(std::span<const Argument> arguments, size_t rows,
                            const ValueType& type, OutputColumn& out) {
  return DrawRows<double>(
      arguments, rows, type, out, {0.0, 1.0},
      [](uint64_t bits, const std::pair<double, double>& bounds, double& item) {
        const auto [low, high] = bounds;
        item = low + (high - low) * UnitInterval(bits);
        return absl::OkStatus();
      });
}

// ---- integers

constexpr std::string_view kIntegers = "random.integers";

absl::StatusOr<ValueType> InferIntegers(const std::vector<ValueType>& given) {
  for (size_t k = 1; k < given.size() && k < 3; ++k) {
    if (!IsFloat(given[k].dtype)) continue;
    return InvalidArgument("{}: bounds are integers, not {}", kIntegers,
                           DTypeName(given[k].dtype));
  }
  return InferRandomNumbers(kIntegers, DType::kInt64, given, false);
}

absl::Status ComputeIntegers(std::span<const Argument> arguments, size_t rows,
                             const ValueType& type, OutputColumn& out) {
  return DrawRows<int64_t>(
      arguments, rows, type, out, {0, 0},
      [](uint64_t bits, const std::pair<int64_t, int64_t>& bounds,
         int64_t& item) -> absl::Status {
        const auto [low, high] = bounds;
        if (low >= high) {
          return DataLoss("{}: there is no integer from {} to below {}",
                          kIntegers, low, high);
        }
        const uint64_t range =
            static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
        item = static_cast<int64_t>(static_cast<uint64_t>(low) +
                                    BelowRange(bits, range));
        return absl::OkStatus();
      });
}

// ---- normal

constexpr std::string_view kNormal = "random.normal";

absl::StatusOr<ValueType> InferNormal(const std::vector<ValueType>& given) {
  return InferRandomNumbers(kNormal, DType::kFloat64, given, true);
}

double Polynomial(double x, const std::array<double, 8>& coefficients) {
  double value = coefficients.back();
  for (size_t k = coefficients.size() - 1; k-- > 0;) {
    value = value * x + coefficients[k];
  }
  return value;
}

// The inverse of the normal distribution: algorithm AS 241, PPND16 (Wichura,
// Applied Statistics 37, 1988), relative error about 1e-16.
double NormalQuantile(double p) {
  constexpr std::array<double, 8> kA = {
      3.3871328727963666080e0,  1.3314166789178437745e+2,
      1.9715909503065514427e+3, 1.3731693765509461125e+4,
      4.5921953931549871457e+4, 6.7265770927008700853e+4,
      3.3430575583588128105e+4, 2.5090809287301226727e+3};
  constexpr std::array<double, 8> kB = {1.0,
                                        4.2313330701600911252e+1,
                                        6.8718700749205790830e+2,
                                        5.3941960214247511077e+3,
                                        2.1213794301586595867e+4,
                                        3.9307895800092710610e+4,
                                        2.8729085735721942674e+4,
                                        5.2264952788528545610e+3};
  constexpr std::array<double, 8> kC = {
      1.42343711074968357734e0,  4.63033784615654529590e0,
      5.76949722146069140550e0,  3.64784832476320460504e0,
      1.27045825245236838258e0,  2.41780725177450611770e-1,
      2.27238449892691845833e-2, 7.74545014278341407640e-4};
  constexpr std::array<double, 8> kD = {1.0,
                                        2.05319162663775882187e0,
                                        1.67638483018380384940e0,
                                        6.89767334985100004550e-1,
                                        1.48103976427480074590e-1,
                                        1.51986665636164571966e-2,
                                        5.47593808499534494600e-4,
                                        1.05075007164441684324e-9};
  constexpr std::array<double, 8> kE = {
      6.65790464350110377720e0,  5.46378491116411436990e0,
      1.78482653991729133580e0,  2.96560571828504891230e-1,
      2.65321895265761230930e-2, 1.24266094738807843860e-3,
      2.71155556874348757815e-5, 2.01033439929228813265e-7};
  constexpr std::array<double, 8> kF = {1.0,
                                        5.99832206555887937690e-1,
                                        1.36929880922735805310e-1,
                                        1.48753612908506148525e-2,
                                        7.86869131145613259100e-4,
                                        1.84631831751005468180e-5,
                                        1.42151175831644588870e-7,
                                        2.04426310338993978564e-15};
  const double q = p - 0.5;
  if (std::fabs(q) <= 0.425) {
    const double r = 0.180625 - q * q;
    return q * Polynomial(r, kA) / Polynomial(r, kB);
  }
  double r = std::sqrt(-std::log(q < 0 ? p : 1.0 - p));
  double value = 0;
  if (r <= 5.0) {
    r -= 1.6;
    value = Polynomial(r, kC) / Polynomial(r, kD);
  } else {
    r -= 5.0;
    value = Polynomial(r, kE) / Polynomial(r, kF);
  }
  return q < 0 ? -value : value;
}

// Returns a number between 0 and 1, but neither of them.
double OpenInterval(uint64_t bits) {
  return (static_cast<double>(bits >> 12) + 0.5) * 0x1p-52;
}

absl::Status ComputeNormal(std::span<const Argument> arguments, size_t rows,
                           const ValueType& type, OutputColumn& out) {
  return DrawRows<double>(
      arguments, rows, type, out, {0.0, 1.0},
      [](uint64_t bits, const std::pair<double, double>& parameters,
         double& item) {
        const auto [mean, deviation] = parameters;
        item = mean + deviation * NormalQuantile(OpenInterval(bits));
        return absl::OkStatus();
      });
}

// ---- beta

constexpr std::string_view kBeta = "random.beta";
constexpr double kLeastShape = 1e-100;  // below it, logarithms overflow
// Each try succeeds with a probability of at least 1/2.
constexpr uint64_t kTries = 1024;

absl::StatusOr<ValueType> InferBeta(const std::vector<ValueType>& given) {
  FM_RETURN_IF_ERROR(ExpectArguments(kBeta, given.size() - 1, 2));
  return InferRandomNumbers(kBeta, DType::kFloat64, given, false);
}

// Two numbers between 0 and 1.
std::pair<double, double> TwoOf(const RandomBits& bits, uint64_t block) {
  const auto words = bits.Block(block);
  return {OpenInterval(words[0] | uint64_t{words[1]} << 32),
          OpenInterval(words[2] | uint64_t{words[3]} << 32)};
}

// Jöhnk's algorithm for parameters of up to 1, with logarithms.
double SmallBeta(const RandomBits& bits, double a, double b) {
  for (uint64_t t = 0; t < kTries; ++t) {
    const auto [u, v] = TwoOf(bits, t);
    const double x = std::log(u) / a;
    const double y = std::log(v) / b;
    if (std::exp(x) + std::exp(y) <= 1.0) return 1.0 / (1.0 + std::exp(y - x));
  }
  return 0.5;
}

// Marsaglia and Tsang, "A Simple Method for Generating Gamma Variables" (2000):
// the draws of blocks `first`, first + 2, … `below_one` serves shapes below 1.
double Gamma(const RandomBits& bits, uint64_t first, double below_one,
             double shape) {
  const double scale =
      shape < 1.0 ? std::exp(std::log(below_one) / shape) : 1.0;
  const double d = (shape < 1.0 ? shape + 1.0 : shape) - 1.0 / 3.0;
  const double c = 1.0 / std::sqrt(9.0 * d);
  for (uint64_t t = 0; t < kTries; ++t) {
    const auto [u, v] = TwoOf(bits, first + 2 * t);
    const double x = NormalQuantile(v);
    const double root = 1.0 + c * x;
    if (root <= 0) continue;
    const double cube = root * root * root;
    if (std::log(u) < 0.5 * x * x + d - d * cube + d * std::log(cube)) {
      return scale * (d * cube);
    }
  }
  return scale * d;
}

double Beta(const RandomBits& bits, double a, double b) {
  if (a <= 1.0 && b <= 1.0) return SmallBeta(bits, a, b);
  const double x = Gamma(bits, 0, OpenInterval(bits.First()), a);
  const double y = Gamma(bits, 1, OpenInterval(bits.Second()), b);
  return x / (x + y);
}

absl::Status ComputeBeta(std::span<const Argument> arguments, size_t rows,
                         const ValueType& type, OutputColumn& out) {
  StartRows(type, false, out);
  for (size_t row = 0; row < rows; ++row) {
    const auto a = NumberAt<double>(arguments[1], row);
    const auto b = NumberAt<double>(arguments[2], row);
    if (!(a >= kLeastShape && b >= kLeastShape && std::isfinite(a + b))) {
      out.failed_row = row;
      return DataLoss("{}: its parameters are {} or more, not {} and {}", kBeta,
                      kLeastShape, a, b);
    }
    out.values.Push(Beta(RandomBits(arguments[0], row), a, b));
  }
  return absl::OkStatus();
}

}  // namespace

void AddRandomFunctions(FunctionRegistry& registry) {
  registry.Add(std::string(kUniform),
               {InferUniform, ComputeUniform, false, /*random=*/true});
  registry.Add(std::string(kIntegers),
               {InferIntegers, ComputeIntegers, false, /*random=*/true});
  registry.Add(std::string(kNormal),
               {InferNormal, ComputeNormal, false, /*random=*/true});
  registry.Add(std::string(kBeta),
               {InferBeta, ComputeBeta, false, /*random=*/true});
  registry.Describe({{"random.uniform"},
                     "`random.uniform()` `random.uniform(low, high)`",
                     "float64, low ≤ u < high; 0 and 1"});
  registry.Describe({{"random.integers"},
                     "`random.integers(low, high)`",
                     "int64, low ≤ k < high; an empty range is a data error"});
  registry.Describe({{"random.normal"},
                     "`random.normal()` `random.normal(mean, sd)`",
                     "float64"});
  registry.Describe({{"random.beta"},
                     "`random.beta(a, b)`",
                     "float64 from 0 to 1; a and b are above 0 (from 1e-100), "
                     "and may be computed"});
  registry.Describe(
      {{"random.uniform", "random.integers", "random.normal"},
       "`random.…(a, b, [n, m])`",
       "that many draws, a constant shape; a and b may be computed"});
}

}  // namespace feedmill
