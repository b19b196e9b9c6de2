#include "core/sources/row_filter.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <compare>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "feedmill/dataset_options.h"

namespace feedmill {
namespace {

using Call = Expr::Call;
using Literal = Expr::Literal;
using Component = Expr::Component;

// A comparison of a component with a literal, the component on the left.
struct ColumnComparison {
  std::string_view column;
  std::string_view function;
  Literal literal;
};

struct Mirrored {
  std::string_view function;
  std::string_view mirrored;  // with the operands exchanged
};
constexpr std::array<Mirrored, 6> kComparisons = {
    {{"less", "greater"},
     {"less_equal", "greater_equal"},
     {"greater", "less"},
     {"greater_equal", "less_equal"},
     {"equal", "equal"},
     {"not_equal", "not_equal"}}};

bool IsJunction(const Call& call) {
  return call.arguments.size() == 2 &&
         (call.function == "logical_and" || call.function == "logical_or");
}

// The value of a literal or of a negated one.
std::optional<Literal> LiteralOf(const Expr& expr) {
  if (const auto* literal = std::get_if<Literal>(&expr.node())) return *literal;
  const auto* call = std::get_if<Call>(&expr.node());
  if (call == nullptr || call->function != "negative") return std::nullopt;
  const auto* literal = std::get_if<Literal>(&call->arguments.at(0).node());
  if (literal == nullptr) return std::nullopt;
  const auto* value = std::get_if<int64_t>(&literal->value);
  if (value != nullptr && *value != std::numeric_limits<int64_t>::min()) {
    return Literal{-*value};
  }
  if (const auto* number = std::get_if<double>(&literal->value)) {
    return Literal{-*number};
  }
  return std::nullopt;
}

std::optional<ColumnComparison> ComparisonOf(const Call& call) {
  const auto known =
      std::ranges::find(kComparisons, call.function, &Mirrored::function);
  if (known == kComparisons.end() || call.arguments.size() != 2) {
    return std::nullopt;
  }
  for (const bool mirrored : {false, true}) {
    const Expr& left = call.arguments[mirrored ? 1 : 0];
    const auto* column = std::get_if<Component>(&left.node());
    auto literal = LiteralOf(call.arguments[mirrored ? 0 : 1]);
    if (column == nullptr || !literal) continue;
    return ColumnComparison{column->name,
                            mirrored ? known->mirrored : known->function,
                            *std::move(literal)};
  }
  return std::nullopt;
}

// Returns true if the dtype's values are compared with the literal exactly as
// Order does it.
bool IsComparable(DType dtype, const Literal& literal) {
  const auto& value = literal.value;
  if (dtype == DType::kBool) return std::holds_alternative<bool>(value);
  if (dtype == DType::kBytes) return std::holds_alternative<std::string>(value);
  // float64 rounds integers that are compared with a float.
  if (std::holds_alternative<double>(value)) return IsFloat(dtype);
  return std::holds_alternative<int64_t>(value) ||
         std::holds_alternative<uint64_t>(value);
}

// Returns true if `predicate` has only comparisons, `and` and `or`.
bool OnlyCompares(const Expr& predicate, const ElementSpec& spec) {
  const auto* call = std::get_if<Call>(&predicate.node());
  if (call == nullptr) return false;
  if (IsJunction(*call)) {
    return std::ranges::all_of(call->arguments, [&](const Expr& argument) {
      return OnlyCompares(argument, spec);
    });
  }
  const auto comparison = ComparisonOf(*call);
  if (!comparison) return false;
  const int index = spec.Find(comparison->column);
  if (index < 0) return false;
  const ComponentSpec& component = spec.components[static_cast<size_t>(index)];
  return component.shape.empty() &&
         IsComparable(component.dtype, comparison->literal);
}

// Returns a number as a value of a float dtype.
double AsFloat(DType dtype, const Literal& literal) {
  return std::visit(
      [dtype](const auto& number) -> double {
        if constexpr (std::is_arithmetic_v<std::decay_t<decltype(number)>>) {
          if (dtype == DType::kFloat32) return static_cast<float>(number);
          // Python's float(n), which is the literal, is rounded once.
          const auto wide = static_cast<double>(number);
          if (dtype == DType::kFloat16) return float{Float16(wide)};
          if (dtype == DType::kBFloat16) return float{BFloat16(wide)};
          return static_cast<double>(number);
        } else {
          return std::nan("");
        }
      },
      literal.value);
}

std::partial_ordering OrderOfIntegers(const Literal& a, const Literal& b) {
  return std::visit(
      [](const auto& x, const auto& y) -> std::partial_ordering {
        using X = std::decay_t<decltype(x)>;
        using Y = std::decay_t<decltype(y)>;
        if constexpr ((std::is_same_v<X, int64_t> ||
                       std::is_same_v<
                           X, uint64_t>)&&(std::is_same_v<Y, int64_t> ||
                                           std::is_same_v<Y, uint64_t>)) {
          if (std::cmp_less(x, y)) return std::partial_ordering::less;
          if (std::cmp_less(y, x)) return std::partial_ordering::greater;
          return std::partial_ordering::equivalent;
        } else {
          return std::partial_ordering::unordered;
        }
      },
      a.value, b.value);
}

// Compares a value of a column with a literal, as the filter does.
std::partial_ordering Order(DType dtype, const Literal& value,
                            const Literal& literal) {
  if (IsFloat(dtype)) return AsFloat(dtype, value) <=> AsFloat(dtype, literal);
  if (dtype == DType::kBytes) {
    const auto* a = std::get_if<std::string>(&value.value);
    const auto* b = std::get_if<std::string>(&literal.value);
    if (a == nullptr || b == nullptr) return std::partial_ordering::unordered;
    return *a <=> *b;
  }
  if (dtype == DType::kBool) {
    const auto* a = std::get_if<bool>(&value.value);
    const auto* b = std::get_if<bool>(&literal.value);
    if (a == nullptr || b == nullptr) return std::partial_ordering::unordered;
    return *a <=> *b;
  }
  return OrderOfIntegers(value, literal);
}

// Returns false if no value of the range fulfils the comparison.
bool MayHold(DType dtype, const ValueRange& range,
             const ColumnComparison& comparison) {
  const auto low = Order(dtype, range.low, comparison.literal);
  const auto high = Order(dtype, range.high, comparison.literal);
  if (low == std::partial_ordering::unordered ||
      high == std::partial_ordering::unordered) {
    return true;
  }
  if (comparison.function == "less") return low < 0;
  if (comparison.function == "less_equal") return low <= 0;
  if (comparison.function == "greater") return high > 0;
  if (comparison.function == "greater_equal") return high >= 0;
  if (comparison.function == "equal") return low <= 0 && high >= 0;
  // NaN, which no range covers, differs from every literal.
  return IsFloat(dtype) || low != 0 || high != 0;
}

bool MayPass(const Expr& predicate, std::span<const SourceField> fields,
             std::span<const std::optional<ValueRange>> ranges) {
  const auto& call = std::get<Call>(predicate.node());
  if (IsJunction(call)) {
    const bool first = MayPass(call.arguments[0], fields, ranges);
    if (first == (call.function == "logical_or")) return first;
    return MayPass(call.arguments[1], fields, ranges);
  }
  const ColumnComparison comparison = *ComparisonOf(call);
  const auto field =
      std::ranges::find(fields, comparison.column, &SourceField::name);
  if (field == fields.end()) return true;
  const auto& range = ranges[static_cast<size_t>(field - fields.begin())];
  return !range || MayHold(field->dtype, *range, comparison);
}

// Returns true for steps that choose or order elements and change none.
bool OnlyChooses(const Step& step) {
  return step.Is<ShuffleStep>() || step.Is<TakeStep>() || step.Is<SkipStep>() ||
         step.Is<ShardStep>() || step.Is<RepeatStep>();
}

}  // namespace

RowFilter RowFilter::Of(const AnalyzedGraph& graph) {
  RowFilter filter;
  for (const Step& step : graph.graph.steps) {
    if (OnlyChooses(step)) continue;
    if (!step.Is<FilterStep>()) break;
    const Expr& predicate = step.Get<FilterStep>().predicate;
    if (!OnlyCompares(predicate, graph.source.spec)) break;
    filter.predicates_.push_back(predicate);
  }
  return filter;
}

bool RowFilter::MayPass(
    std::span<const SourceField> fields,
    std::span<const std::optional<ValueRange>> ranges) const {
  return std::ranges::all_of(predicates_, [&](const Expr& predicate) {
    return feedmill::MayPass(predicate, fields, ranges);
  });
}

}  // namespace feedmill
