#include "core/ops/literal_folding.h"

#include <cmath>
#include <compare>
#include <limits>
#include <type_traits>
#include <utility>
#include <variant>

#include "core/base/status.h"

namespace feedmill {
namespace {

using Int = __int128;  // wider than any literal
using Result = absl::StatusOr<ValueType>;

struct Number {
  bool is_float = false;
  Int integer = 0;
  double real = 0;

  double AsDouble() const {
    return is_float ? real : static_cast<double>(integer);
  }
  bool IsZero() const { return is_float ? real == 0 : integer == 0; }
};

Number ToNumber(const Expr::Literal& literal) {
  return std::visit(
      [](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        Number number;
        if constexpr (std::is_same_v<T, double>) {
          number.is_float = true;
          number.real = value;
        } else if constexpr (!std::is_same_v<T, std::string>) {
          number.integer = static_cast<Int>(value);
        }
        return number;
      },
      literal.value);
}

ValueType Weak(DType dtype, Expr::Literal literal) {
  ValueType type;
  type.dtype = dtype;
  type.weak = true;
  type.literal = std::move(literal);
  return type;
}

Result OfBool(bool value) { return Weak(DType::kBool, {value}); }
Result OfReal(double value) { return Weak(DType::kFloat64, {value}); }
Result OfInteger(std::string_view function, Int value) {
  if (value >= std::numeric_limits<int64_t>::min() &&
      value <= std::numeric_limits<int64_t>::max()) {
    return Weak(DType::kInt64, {static_cast<int64_t>(value)});
  }
  if (value > 0 && value <= std::numeric_limits<uint64_t>::max()) {
    return Weak(DType::kUInt64, {static_cast<uint64_t>(value)});
  }
  return InvalidArgument("{} of these literals does not fit 64 bits", function);
}
absl::Status TooLarge(std::string_view function) {
  return InvalidArgument("{} of these literals does not fit 64 bits", function);
}
absl::Status DivisionByZero(std::string_view function) {
  return InvalidArgument("{}: division of a literal by zero", function);
}

Int FloorDivideIntegers(Int a, Int b) {
  const Int quotient = a / b;
  return quotient * b != a && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

// Same as Python's float % and //.
std::pair<double, double> FloatDivMod(double a, double b) {
  double mod = std::fmod(a, b);
  double quotient = (a - mod) / b;
  if (mod != 0) {
    if ((b < 0) != (mod < 0)) {
      mod += b;
      quotient -= 1;
    }
  } else {
    mod = std::copysign(0.0, b);
  }
  double floored = std::copysign(0.0, a / b);
  if (quotient != 0) {
    floored = std::floor(quotient);
    if (quotient - floored > 0.5) floored += 1;
  }
  return {floored, mod};
}

Result Power(const Number& a, const Number& b) {
  const bool real = a.is_float || b.is_float || b.integer < 0;
  if (real) {
    if (a.IsZero() && b.AsDouble() < 0) return DivisionByZero("power");
    const double value = std::pow(a.AsDouble(), b.AsDouble());
    if (std::isnan(value) && a.AsDouble() < 0) {
      return InvalidArgument("power: a complex result");
    }
    return OfReal(value);
  }
  Int result = 1;
  Int base = a.integer;
  for (Int rest = b.integer; rest != 0; rest >>= 1) {
    if ((rest & 1) != 0 && __builtin_mul_overflow(result, base, &result)) {
      return TooLarge("power");
    }
    if (rest > 1 && __builtin_mul_overflow(base, base, &base)) {
      return TooLarge("power");
    }
  }
  return OfInteger("power", result);
}

Result Shift(std::string_view function, Int a, Int b) {
  if (b < 0) return InvalidArgument("{}: negative shift count", function);
  if (function == "right_shift") {
    return OfInteger(function, b > 126 ? (a < 0 ? -1 : 0) : a >> b);
  }
  if (a == 0) return OfInteger(function, 0);
  Int result = 0;
  if (b > 64 || __builtin_mul_overflow(a, Int{1} << b, &result)) {
    return TooLarge(function);
  }
  return OfInteger(function, result);
}

std::optional<Result> FoldUnary(std::string_view function, const Number& a) {
  if (function == "logical_not") return OfBool(a.IsZero());
  if (function == "negative") {
    return a.is_float ? OfReal(-a.real) : OfInteger(function, -a.integer);
  }
  if (function == "positive") {
    return a.is_float ? OfReal(a.real) : OfInteger(function, a.integer);
  }
  if (function == "invert" && !a.is_float) {
    return OfInteger(function, ~a.integer);
  }
  return std::nullopt;
}

std::optional<Result> FoldComparison(std::string_view function, const Number& a,
                                     const Number& b) {
  const std::partial_ordering order =
      a.is_float || b.is_float
          ? a.AsDouble() <=> b.AsDouble()
          : std::partial_ordering(a.integer < b.integer   ? -1 <=> 0
                                  : a.integer > b.integer ? 1 <=> 0
                                                          : 0 <=> 0);
  if (function == "less") return OfBool(order < 0);
  if (function == "less_equal") return OfBool(order <= 0);
  if (function == "greater") return OfBool(order > 0);
  if (function == "greater_equal") return OfBool(order >= 0);
  if (function == "equal") return OfBool(order == 0);
  if (function == "not_equal") return OfBool(order != 0);
  if (function == "logical_and") return OfBool(!a.IsZero() && !b.IsZero());
  if (function == "logical_or") return OfBool(!a.IsZero() || !b.IsZero());
  return std::nullopt;
}

std::optional<Result> FoldDivision(std::string_view function, const Number& a,
                                   const Number& b) {
  const bool quotient = function == "floor_divide";
  if (function != "divide" && !quotient && function != "remainder") {
    return std::nullopt;
  }
  if (b.IsZero()) return DivisionByZero(function);
  if (function == "divide") return OfReal(a.AsDouble() / b.AsDouble());
  if (a.is_float || b.is_float) {
    const auto [floored, mod] = FloatDivMod(a.AsDouble(), b.AsDouble());
    return OfReal(quotient ? floored : mod);
  }
  const Int floored = FloorDivideIntegers(a.integer, b.integer);
  return OfInteger(function,
                   quotient ? floored : a.integer - floored * b.integer);
}

std::optional<Result> FoldArithmetic(std::string_view function, const Number& a,
                                     const Number& b) {
  if (function == "power") return Power(a, b);
  const bool real = a.is_float || b.is_float;
  if (function == "add") {
    return real ? OfReal(a.AsDouble() + b.AsDouble())
                : OfInteger(function, a.integer + b.integer);
  }
  if (function == "subtract") {
    return real ? OfReal(a.AsDouble() - b.AsDouble())
                : OfInteger(function, a.integer - b.integer);
  }
  if (function == "multiply") {
    if (real) return OfReal(a.AsDouble() * b.AsDouble());
    Int product = 0;
    if (__builtin_mul_overflow(a.integer, b.integer, &product)) {
      return TooLarge(function);
    }
    return OfInteger(function, product);
  }
  if (real) return std::nullopt;
  if (function == "bitwise_and")
    return OfInteger(function, a.integer & b.integer);
  if (function == "bitwise_or")
    return OfInteger(function, a.integer | b.integer);
  if (function == "bitwise_xor")
    return OfInteger(function, a.integer ^ b.integer);
  if (function == "left_shift" || function == "right_shift") {
    return Shift(function, a.integer, b.integer);
  }
  return std::nullopt;
}

}  // namespace

std::optional<absl::StatusOr<ValueType>> FoldLiterals(
    std::string_view function, std::span<const ValueType* const> arguments) {
  for (const ValueType* type : arguments) {
    if (!type->weak || !type->literal) return std::nullopt;
  }
  if (arguments.size() == 1) {
    return FoldUnary(function, ToNumber(*arguments[0]->literal));
  }
  if (arguments.size() != 2) return std::nullopt;
  const Number a = ToNumber(*arguments[0]->literal);
  const Number b = ToNumber(*arguments[1]->literal);
  std::optional<Result> result = FoldComparison(function, a, b);
  if (!result) result = FoldDivision(function, a, b);
  if (!result) result = FoldArithmetic(function, a, b);
  return result;
}

}  // namespace feedmill
