#include "core/dataset/type_inference.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/byte_budget.h"
#include "core/base/status.h"
#include "core/base/utf8.h"
#include "core/chunk/validity.h"
#include "core/dataset/foreign_names.h"
#include "core/dataset/nearest_name.h"
#include "core/dataset/nullable.h"
#include "core/dataset/source_types.h"

namespace feedmill {
namespace {

// Returns the expression, shortened for a message.
std::string Shown(const Expr& expr) {
  constexpr size_t kShown = 80;
  std::string text = expr.ToString();
  if (text.size() > kShown) text.replace(kShown, std::string::npos, "…");
  return text;
}

absl::StatusOr<ValueType> InferComponent(const Expr::Component& component,
                                         const ElementSpec& spec) {
  const absl::StatusOr<size_t> found = FindComponent(spec, component.name);
  if (found.ok()) {
    const ComponentSpec& c = spec.components[*found];
    ValueType type;
    type.dtype = c.dtype;
    type.shape = c.shape;
    type.logical = c.logical;
    return type;
  }
  if (IsTypeWord(component.name)) {
    return LiteralType(Expr::Literal{component.name});
  }
  return found.status();
}

absl::StatusOr<ValueType> Infer(const Expr& expr, const ElementSpec& spec,
                                const FunctionRegistry& registry) {
  if (const auto* literal = std::get_if<Expr::Literal>(&expr.node())) {
    return LiteralType(*literal);
  }
  if (const auto* component = std::get_if<Expr::Component>(&expr.node())) {
    return InferComponent(*component, spec);
  }
  const auto& call = std::get<Expr::Call>(expr.node());
  std::vector<ValueType> arguments;
  arguments.reserve(call.arguments.size());
  for (const Expr& argument : call.arguments) {
    FM_ASSIGN_OR_RETURN(ValueType type, Infer(argument, spec, registry));
    arguments.push_back(std::move(type));
  }
  absl::StatusOr<ValueType> result =
      InferCall(call.function, arguments, registry);
  if (result.ok()) return result;
  return Annotate(result.status(), fmt::format("in \"{}\"", Shown(expr)));
}

}  // namespace

absl::StatusOr<size_t> FindComponent(const ElementSpec& spec,
                                     std::string_view name) {
  const int found = spec.Find(name);
  if (found >= 0) return static_cast<size_t>(found);
  const bool unnamed =
      spec.components.size() == 1 && spec.components[0].name.empty();
  if (unnamed && name == "x") return size_t{0};
  for (std::string_view python : {"True", "False"}) {
    if (name.size() != python.size()) continue;
    if (name.substr(1) == python.substr(1) &&
        (name[0] | 0x20) == (python[0] | 0x20)) {
      return InvalidArgument("\"{}\" is written {}", name, python);
    }
  }
  if (unnamed) {
    return InvalidArgument(
        "there is no component \"{}\": the element is a single unnamed {}, "
        "written x",
        name, spec.ToString());
  }
  std::vector<std::string_view> known;
  for (const ComponentSpec& c : spec.components) known.push_back(c.name);
  const std::string hint = DidYouMean(name, known);
  return InvalidArgument("there is no component \"{}\"{} The element is {}",
                         name, hint.empty() ? "." : hint, spec.ToString());
}

bool IsTypeWord(std::string_view name) {
  return name == "str" || DTypeFromName(name).has_value();
}

ValueType LiteralType(const Expr::Literal& literal) {
  struct Visitor {
    DType operator()(bool) const { return DType::kBool; }
    DType operator()(int64_t) const { return DType::kInt64; }
    DType operator()(uint64_t) const { return DType::kUInt64; }
    DType operator()(double) const { return DType::kFloat64; }
    DType operator()(const std::string&) const { return DType::kBytes; }
  };
  ValueType type;
  type.dtype = std::visit(Visitor{}, literal.value);
  type.weak = type.dtype != DType::kBytes;
  type.literal = literal;
  const auto* const text = std::get_if<std::string>(&literal.value);
  if (text != nullptr && IsUtf8(*text)) type.logical = LogicalType::kString;
  return type;
}

absl::Status CheckValueSize(DType dtype, const Shape& shape) {
  // Blocks of a few thousand rows of this size still fit into 64 bits.
  constexpr uint64_t kValueBytesMax = uint64_t{1} << 48;
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) {
    return absl::OkStatus();
  }
  uint64_t bytes = std::max<uint64_t>(ItemSize(dtype), 1);
  bool more = false;
  for (const int64_t dim : shape) {
    if (dim == kUnknownDim) continue;
    more = __builtin_mul_overflow(bytes, static_cast<uint64_t>(dim), &bytes) ||
           more;
    if (more) break;
  }
  if (!more && bytes <= kValueBytesMax) return absl::OkStatus();
  return InvalidArgument(
      "a {}{} takes {}{}; the limit of a value is {}, and that of an element "
      "--element-max",
      DTypeName(dtype), ShapeToString(shape), more ? "more than " : "",
      BytesText(more ? UINT64_MAX : bytes), BytesText(kValueBytesMax));
}

namespace {

// Functions whose result has values of argument 0, and nothing else.
constexpr std::array<std::string_view, 8> kChoosing = {
    "gather", "getitem", "getslice", "reshape",
    "slice",  "sort",    "unique",   "transpose"};

LogicalType LogicalOfCast(const std::vector<ValueType>& arguments) {
  const auto* const name =
      std::get_if<std::string>(&arguments[1].literal->value);
  return TypeFromName(*name)->logical;
}

bool IsText(const ValueType& type) {
  return type.dtype != DType::kBytes || type.logical == LogicalType::kString;
}

// Returns what the result of a call stands for.
LogicalType LogicalOfCall(std::string_view name,
                          const FunctionRegistry::Function& function,
                          const std::vector<ValueType>& arguments,
                          const ValueType& result) {
  using Texts = FunctionRegistry::Texts;
  if (name == "cast") return LogicalOfCast(arguments);
  if (result.dtype == DType::kBytes) {
    const bool one = !arguments.empty() && arguments[0].shape.empty();
    const bool broken = !function.plugin.empty() ||
                        function.texts == Texts::kBroken ||
                        (function.texts == Texts::kOneIsBroken && one);
    return !broken && std::ranges::all_of(arguments, IsText)
               ? LogicalType::kString
               : LogicalType::kNone;
  }
  if (result.dtype != DType::kInt64) return LogicalType::kNone;
  if (std::ranges::find(kChoosing, name) != kChoosing.end()) {
    return arguments[0].logical;
  }
  if (name != "where") return LogicalType::kNone;
  const LogicalType logical = arguments[1].logical;
  return arguments[2].literal || arguments[2].logical == logical
             ? logical
             : LogicalType::kNone;
}

}  // namespace

absl::StatusOr<ValueType> InferCall(std::string_view function,
                                    const std::vector<ValueType>& arguments,
                                    const FunctionRegistry& registry) {
  const FunctionRegistry::Function* found = registry.Find(function);
  if (found == nullptr) {
    const std::string hint = NameHint(function, kFunctions, registry.Names());
    return InvalidArgument(
        "there is no function \"{}\"{}", function,
        !hint.empty() ? hint
        : function.find('.') == function.npos
            ? "; docs/expressions.md lists them"
            : "; if it is of a plugin, --op-plugin FILE or the variable "
              "FEEDMILL_OP_PLUGINS loads it");
  }
  std::vector<ValueType> all;
  if (found->random) all.push_back(RandomBitsType());
  all.insert(all.end(), arguments.begin(), arguments.end());
  absl::StatusOr<ValueType> result = found->infer(all);
  if (result.ok()) {
    FM_RETURN_IF_ERROR(CheckValueSize(result->dtype, result->shape));
    result->logical = LogicalOfCall(function, *found, arguments, *result);
  }
  return result;
}

absl::StatusOr<ValueType> InferType(const Expr& expr, const ElementSpec& spec,
                                    const FunctionRegistry& registry) {
  if (expr.height() > Expr::kHeightMax || expr.nodes() > Expr::kNodesMax) {
    return InvalidArgument(
        "the expression has {} terms, nested {} deep (at most {} and {}); "
        "split it over several map steps",
        expr.nodes(), expr.height(), Expr::kNodesMax, Expr::kHeightMax);
  }
  FM_ASSIGN_OR_RETURN(const NullableExpr split,
                      SplitNulls(expr, spec, registry));
  return Infer(split.value, spec, registry);
}

namespace {

// Adds the validity of the output `name`, a value of `shape` that may be null.
absl::Status AddValidity(const std::string& name, const Shape& shape,
                         const Expr& valid, const ElementSpec& spec,
                         const FunctionRegistry& registry, ElementSpec& out) {
  FM_ASSIGN_OR_RETURN(const ValueType type, Infer(valid, spec, registry));
  if (name.empty()) {
    return InvalidArgument(
        "a value that may be null needs a name; write map: {{name: …}}, or "
        "fill_null(…, value)");
  }
  // In a batch, each value has its validity.
  if (!type.shape.empty() && type.shape != shape) {
    return InvalidArgument(
        "\"{}\" would be {}, and has {} values that may be null; write this "
        "step before the batch, or fill_null(a, value) before this step",
        name, ShapeToString(shape), ShapeToString(type.shape));
  }
  out.components.push_back({ValidityName(name), DType::kBool, type.shape});
  return absl::OkStatus();
}

// Refuses an option that is written among the components: a constant of such a
// name.
absl::Status CheckIsNoOption(const std::string& name, const Expr& expr) {
  const auto* const literal = std::get_if<Expr::Literal>(&expr.node());
  if (literal == nullptr) return absl::OkStatus();
  const std::string_view answer = AnswerToOptionOfMap(name);
  if (answer.empty()) return absl::OkStatus();
  return InvalidArgument(
      "\"{}\" is not an option here: it would be a component with the constant "
      "{}; {}",
      name, Shown(expr), answer);
}

}  // namespace

absl::StatusOr<ElementSpec> InferOutputs(const Outputs& outputs,
                                         const ElementSpec& spec,
                                         const FunctionRegistry& registry) {
  ElementSpec out;
  for (const auto& [name, expr] : outputs) {
    FM_RETURN_IF_ERROR(CheckIsNoOption(name, expr));
    FM_ASSIGN_OR_RETURN(ValueType type, InferType(expr, spec, registry));
    if (type.list.has_value()) {
      return InvalidArgument(
          "\"{}\" is a list, and a component is an array; use full(shape, "
          "value)",
          expr.ToString());
    }
    out.components.push_back({name, type.dtype, type.shape, type.logical});
    FM_ASSIGN_OR_RETURN(const NullableExpr split,
                        SplitNulls(expr, spec, registry));
    if (split.valid) {
      FM_RETURN_IF_ERROR(
          AddValidity(name, type.shape, *split.valid, spec, registry, out));
    }
  }
  FM_RETURN_IF_ERROR(CheckComponentNames(out));
  return out;
}

}  // namespace feedmill
