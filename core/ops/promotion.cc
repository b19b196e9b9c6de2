#include "core/ops/promotion.h"

#include <optional>
#include <type_traits>
#include <variant>

#include "core/base/status.h"

namespace feedmill {
namespace {

DType SignedOfSize(size_t size) {
  switch (size) {
    case 1:
      return DType::kInt8;
    case 2:
      return DType::kInt16;
    case 4:
      return DType::kInt32;
    default:
      return DType::kInt64;
  }
}

bool HoldsInteger(const Expr::Literal& literal) {
  return std::holds_alternative<int64_t>(literal.value) ||
         std::holds_alternative<uint64_t>(literal.value);
}

DType LargestLiteralDType(std::span<const ValueType* const> types) {
  std::optional<DType> result;
  for (const ValueType* type : types) {
    result = result ? PromoteDTypes(*result, type->dtype) : type->dtype;
  }
  return *result;
}

}  // namespace

DType PromoteDTypes(DType a, DType b) {
  if (a == b || b == DType::kBool) return a;
  if (a == DType::kBool) return b;
  if (IsFloat(b) && !IsFloat(a)) std::swap(a, b);
  if (IsFloat(a)) {
    if (IsFloat(b)) {
      const bool wide = a == DType::kFloat64 || b == DType::kFloat64;
      return wide ? DType::kFloat64 : DType::kFloat32;
    }
    // A float has the exact values of integers of half its size.
    if (a == DType::kFloat64 || 2 * ItemSize(b) <= ItemSize(a)) return a;
    return ItemSize(b) <= 2 ? DType::kFloat32 : DType::kFloat64;
  }
  const size_t size_a = ItemSize(a);
  const size_t size_b = ItemSize(b);
  if (IsSigned(a) == IsSigned(b)) return size_a > size_b ? a : b;
  if (!IsSigned(a)) std::swap(a, b);
  if (ItemSize(a) > ItemSize(b)) return a;
  if (ItemSize(b) == 8) return DType::kFloat64;
  return SignedOfSize(2 * ItemSize(b));
}

bool IsWeakInteger(const ValueType& type) {
  return type.weak && type.literal && HoldsInteger(*type.literal);
}

bool IsWeakFloat(const ValueType& type) {
  return type.weak && type.literal &&
         std::holds_alternative<double>(type.literal->value);
}

std::optional<double> ConstantOf(const ValueType& type) {
  if (!type.literal) return std::nullopt;
  const auto& value = type.literal->value;
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* integer = std::get_if<int64_t>(&value)) {
    return static_cast<double>(*integer);
  }
  return std::nullopt;
}

bool LiteralFits(const Expr::Literal& literal, DType dtype) {
  if (!IsInteger(dtype) || !HoldsInteger(literal)) return true;
  return VisitNumeric(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) {
      if (const auto* value = std::get_if<int64_t>(&literal.value)) {
        return std::in_range<T>(*value);
      }
      return std::in_range<T>(std::get<uint64_t>(literal.value));
    }
    return true;
  });
}

std::string LiteralText(const Expr::Literal& literal) {
  return std::visit(
      [](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, bool>) {
          return std::string(value ? "True" : "False");
        } else if constexpr (std::is_same_v<T, std::string>) {
          return fmt::format("'{}'", value);
        } else {
          return fmt::format("{}", value);
        }
      },
      literal.value);
}

absl::StatusOr<DType> CommonDType(std::string_view function,
                                  std::span<const ValueType* const> types) {
  std::optional<DType> strong;
  bool weak_integer = false;
  bool weak_float = false;
  for (const ValueType* type : types) {
    if (type->dtype == DType::kBytes) {
      return InvalidArgument(
          "{}: bytes cannot take part in arithmetic{}", function,
          function == "add" ? "; join([a, b], '') puts texts together" : "");
    }
    if (IsWeakInteger(*type)) {
      weak_integer = true;
    } else if (IsWeakFloat(*type)) {
      weak_float = true;
    } else {
      strong = strong ? PromoteDTypes(*strong, type->dtype) : type->dtype;
    }
  }
  if (!strong) return LargestLiteralDType(types);
  if (weak_float && !IsFloat(*strong)) return DType::kFloat64;
  if (weak_integer && *strong == DType::kBool) strong = DType::kInt64;
  return *strong;
}

absl::Status CheckLiterals(std::string_view function,
                           std::span<const ValueType* const> types,
                           DType calc) {
  for (const ValueType* type : types) {
    if (IsWeakInteger(*type) && !LiteralFits(*type->literal, calc)) {
      return InvalidArgument(
          "{}: the literal {} does not fit {}; cast the other operand to a "
          "larger dtype, as in cast(x, int64)",
          function, LiteralText(*type->literal), DTypeName(calc));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Shape> BroadcastShapes(const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape result = longer;
  const size_t lead = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    int64_t& dim = result[lead + i];
    const int64_t other = shorter[i];
    if (dim == other || other == 1) continue;
    if (dim == 1) {
      dim = other;
    } else if (dim == kUnknownDim) {
      dim = other;
    } else if (other != kUnknownDim) {
      return InvalidArgument("shapes {} and {} cannot be broadcast together",
                             ShapeToString(a), ShapeToString(b));
    }
  }
  return result;
}

}  // namespace feedmill
