#include "core/dataset/nullable.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/chunk/validity.h"
#include "core/dataset/type_inference.h"

namespace feedmill {
namespace {

// Functions that fail for no value of their arguments, so that they may be
// computed of the values of nulls.
constexpr std::array<std::string_view, 52> kTotal = {
    "abs",        "add",       "bitwise_and", "bitwise_or",  "bitwise_xor",
    "cast",       "ceil",      "clip",        "contains",    "cos",
    "count",      "date_part", "endswith",    "equal",       "exp",
    "expm1",      "find",      "floor",       "greater",     "greater_equal",
    "invert",     "isfinite",  "isnan",       "length",      "less",
    "less_equal", "log",       "log1p",       "logical_not", "lower",
    "lstrip",     "maximum",   "minimum",     "multiply",    "negative",
    "not_equal",  "positive",  "re_extract",  "re_match",    "re_replace",
    "replace",    "round",     "rstrip",      "sign",        "sin",
    "sqrt",       "square",    "startswith",  "strip",       "subtract",
    "tanh",       "upper"};
// Functions that fail if their second argument is 0.
constexpr std::array<std::string_view, 3> kDivisions = {
    "divide", "floor_divide", "remainder"};

bool Contains(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

Expr Call(std::string function, std::vector<Expr> arguments) {
  return Expr::Apply(std::move(function), std::move(arguments));
}

std::optional<Expr> AllOf(const std::vector<NullableExpr>& all) {
  std::optional<Expr> valid;
  for (const NullableExpr& one : all) {
    if (one.valid) valid = valid ? *valid && *one.valid : *one.valid;
  }
  return valid;
}

bool CallsRandom(const Expr& expr, const FunctionRegistry& registry) {
  const auto* const call = std::get_if<Expr::Call>(&expr.node());
  if (call == nullptr) return false;
  const auto* const function = registry.Find(call->function);
  return (function != nullptr && function->random) ||
         std::ranges::any_of(call->arguments, [&](const Expr& argument) {
           return CallsRandom(argument, registry);
         });
}

constexpr std::array<std::string_view, 3> kOfNulls = {"is_null", "fill_null",
                                                      "coalesce"};

bool CallsNullFunction(const Expr& expr) {
  const auto* const call = std::get_if<Expr::Call>(&expr.node());
  return call != nullptr &&
         (Contains(kOfNulls, call->function) ||
          std::ranges::any_of(call->arguments, CallsNullFunction));
}

// The value of coalesce(arguments…), which fill_null(a, b) is, too.
NullableExpr Coalesce(std::vector<NullableExpr> arguments) {
  NullableExpr out = std::move(arguments.back());
  for (size_t k = arguments.size() - 1; k-- > 0;) {
    NullableExpr& one = arguments[k];
    const Expr valid = one.valid.value_or(Expr(true));
    out.value = Where(valid, std::move(one.value), std::move(out.value));
    if (!one.valid) out.valid.reset();
    if (out.valid) out.valid = valid || *std::move(out.valid);
  }
  return out;
}

// Replaces expressions of nulls from the leaves up.
class NullSplitter {
 public:
  NullSplitter(const ElementSpec& spec, const FunctionRegistry* registry)
      : spec_(spec), registry_(registry) {}

  absl::StatusOr<NullableExpr> Split(const Expr& expr) const {
    if (const auto* c = std::get_if<Expr::Component>(&expr.node())) {
      return OfComponent(expr, c->name);
    }
    const auto* const call = std::get_if<Expr::Call>(&expr.node());
    if (call == nullptr) return NullableExpr{expr, std::nullopt};
    std::vector<NullableExpr> arguments;
    for (const Expr& argument : call->arguments) {
      FM_ASSIGN_OR_RETURN(arguments.emplace_back(), Split(argument));
    }
    FM_ASSIGN_OR_RETURN(NullableExpr out,
                        OfCall(call->function, std::move(arguments)));
    FM_RETURN_IF_ERROR(CheckSize(out.value));
    if (out.valid) FM_RETURN_IF_ERROR(CheckSize(*out.valid));
    return out;
  }

 private:
  absl::StatusOr<NullableExpr> OfComponent(const Expr& expr,
                                           const std::string& name) const {
    NullableExpr out{expr, std::nullopt};
    const auto found = FindComponent(spec_, name);
    if (!found.ok()) {
      if (IsTypeWord(name)) return out;  // cast(x, float32)
      return found.status();
    }
    if (!MayBeNull(std::span(spec_.components), *found)) return out;
    const ComponentSpec& validity = spec_.components[*found + 1];
    out.valid = Expr::Named(validity.name);
    return out;
  }

  absl::StatusOr<NullableExpr> OfCall(
      const std::string& name, std::vector<NullableExpr> arguments) const {
    const std::optional<Expr> valid = AllOf(arguments);
    if (Contains(kOfNulls, name)) {
      FM_RETURN_IF_ERROR(CheckCount(name, arguments.size()));
      if (name != "is_null") return Coalesce(std::move(arguments));
      return NullableExpr{valid ? !*valid : Expr(false), std::nullopt};
    }
    if (valid && (name == "logical_and" || name == "logical_or") &&
        arguments.size() == 2) {
      return Kleene(name == "logical_and", std::move(arguments));
    }
    if (valid && name == "hash_uniform") return HashOf(arguments);
    if (name == "logical_not" && arguments.size() == 1 &&
        arguments[0].is_false) {
      std::swap(arguments[0].value, *arguments[0].is_false);
      return std::move(arguments[0]);
    }
    std::vector<Expr> values;
    values.reserve(arguments.size());
    for (const NullableExpr& one : arguments) values.push_back(one.value);
    NullableExpr out{Expr(), valid};
    if (valid && name == "where" && arguments.size() == 3) {
      FM_RETURN_IF_ERROR(CheckRepeatable(values[0]));
      out.valid = Where(values[0], arguments[1].valid.value_or(Expr(true)),
                        arguments[2].valid.value_or(Expr(true)));
      if (arguments[0].valid) out.valid = *arguments[0].valid && *out.valid;
    } else if (valid && Contains(kDivisions, name) && values.size() == 2) {
      // A literal stays, because it takes the dtype of the dividend.
      if (!std::holds_alternative<Expr::Literal>(values[1].node())) {
        values[1] = Where(*valid, values[1], Expr(1));
      }
    } else if (valid && !Contains(kTotal, name)) {
      return InvalidArgument(
          "{} takes no value that may be null; write fill_null(a, value) for "
          "such an argument a",
          name);
    }
    out.value = Call(name, std::move(values));
    return out;
  }

  // Nulls have one hash, which is never null.
  absl::StatusOr<NullableExpr> HashOf(
      const std::vector<NullableExpr>& arguments) const {
    std::vector<Expr> hashed;
    for (const NullableExpr& one : arguments) {
      if (!one.valid || registry_ == nullptr) {
        hashed.push_back(one.value);
        continue;
      }
      FM_ASSIGN_OR_RETURN(const ValueType type,
                          InferType(one.value, spec_, *registry_));
      const Expr zero = type.dtype == DType::kBytes  ? Expr("")
                        : type.dtype == DType::kBool ? Expr(false)
                                                     : Expr(0);
      hashed.push_back(Where(*one.valid, one.value, zero));
      hashed.push_back(*one.valid);
    }
    return NullableExpr{Call("hash_uniform", std::move(hashed)), std::nullopt};
  }

  static absl::Status CheckSize(const Expr& expr) {
    if (expr.nodes() <= Expr::kNodesMax && expr.height() <= Expr::kHeightMax) {
      return absl::OkStatus();
    }
    return InvalidArgument(
        "an expression of values that may be null gets more than {} terms, or "
        "deeper than {}; split it over several with_columns steps",
        Expr::kNodesMax, Expr::kHeightMax);
  }

  static absl::Status CheckCount(const std::string& name, size_t count) {
    const size_t least = name == "is_null" ? 1 : 2;
    if (count == least || (count > least && name == "coalesce")) {
      return absl::OkStatus();
    }
    return InvalidArgument("{} takes {} argument{}{}, not {}", name, least,
                           least == 1 ? "" : "s",
                           name == "coalesce" ? " or more" : "", count);
  }

  // Refuses an expression that is computed twice and would draw other numbers.
  absl::Status CheckRepeatable(const Expr& expr) const {
    if (registry_ == nullptr || !CallsRandom(expr, *registry_)) {
      return absl::OkStatus();
    }
    return InvalidArgument(
        "\"{}\" is random, and stands beside a value that may be null; give it "
        "a name in a with_columns before this step",
        expr.ToString());
  }

  // SQL's `and` and `or`: each operand is true, false or neither.
  absl::StatusOr<NullableExpr> Kleene(
      bool is_and, std::vector<NullableExpr> arguments) const {
    std::vector<Expr> is_true;
    std::vector<Expr> is_false;
    for (const NullableExpr& one : arguments) {
      FM_RETURN_IF_ERROR(CheckRepeatable(one.value));
      // Without is_false, a chain would double with each operand.
      const bool plain = !one.valid || one.is_false;
      is_true.push_back(plain ? one.value : *one.valid && one.value);
      is_false.push_back(one.is_false ? *one.is_false
                         : one.valid  ? *one.valid && !one.value
                                      : !one.value);
    }
    const Expr yes =
        is_and ? is_true[0] && is_true[1] : is_true[0] || is_true[1];
    const Expr no =
        is_and ? is_false[0] || is_false[1] : is_false[0] && is_false[1];
    return NullableExpr{yes, yes || no, no};
  }

  const ElementSpec& spec_;
  const FunctionRegistry* const registry_;
};

// True if a component of `spec` may be null, or `expr` calls is_null, fill_null
// or coalesce.
bool MayHaveNulls(const Expr& expr, const ElementSpec& spec) {
  for (size_t c = 0; c < spec.components.size(); ++c) {
    if (MayBeNull(std::span(spec.components), c)) return true;
  }
  return CallsNullFunction(expr);
}

}  // namespace

absl::StatusOr<NullableExpr> SplitNulls(const Expr& expr,
                                        const ElementSpec& spec,
                                        const FunctionRegistry& registry) {
  if (!MayHaveNulls(expr, spec)) return NullableExpr{expr, std::nullopt};
  return NullSplitter(spec, &registry).Split(expr);
}

absl::StatusOr<Expr> TrueAndValid(const Expr& expr, const ElementSpec& spec,
                                  const FunctionRegistry& registry) {
  FM_ASSIGN_OR_RETURN(NullableExpr split, SplitNulls(expr, spec, registry));
  if (!split.valid) return split.value;
  return *std::move(split.valid) && std::move(split.value);
}

void AddNullFunctions(FunctionRegistry& registry) {
  for (const std::string_view name : kOfNulls) {
    const auto split = [name] {
      return Internal("{} was not replaced by SplitNulls", name);
    };
    registry.Add(
        std::string(name),
        {[split](const auto&) -> absl::StatusOr<ValueType> { return split(); },
         [split](auto, size_t, const auto&, auto&) { return split(); }});
  }
  registry.Describe({{"is_null"},
                     "`is_null(a)`",
                     "bool: the value is null; never null itself"});
  registry.Describe({{"fill_null", "coalesce"},
                     "`fill_null(a, v)` `coalesce(a, b, …)`",
                     "the first of them that is not null, in their common "
                     "dtype"});
}

bool IsNullable(const Expr& expr, const ElementSpec& spec) {
  if (!MayHaveNulls(expr, spec)) return false;
  const auto split = NullSplitter(spec, nullptr).Split(expr);
  return split.ok() && split->valid.has_value();
}

}  // namespace feedmill
