#include <string>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/ops/elementwise.h"
#include "core/ops/function_families.h"
#include "core/ops/literal_folding.h"
#include "core/ops/loops.h"
#include "core/ops/promotion.h"

namespace feedmill {
namespace {

using Types = std::span<const ValueType* const>;

using Resolver = ElementwiseCompute::Resolver;

absl::Status NoMeaning(std::string_view function, DType dtype) {
  return InvalidArgument("{} is not defined for {}", function,
                         DTypeName(dtype));
}

absl::StatusOr<Shape> BroadcastAll(const Types& types) {
  Shape shape;
  for (const ValueType* type : types) {
    FM_ASSIGN_OR_RETURN(shape, BroadcastShapes(shape, type->shape));
  }
  return shape;
}

FunctionRegistry::Function MakeElementwise(std::string name, size_t arity,
                                           Resolver resolve) {
  FunctionRegistry::Function function;
  function.infer =
      [name, arity, resolve](
          const std::vector<ValueType>& given) -> absl::StatusOr<ValueType> {
    FM_RETURN_IF_ERROR(ExpectArguments(name, given.size(), arity));
    std::vector<const ValueType*> types;
    for (const ValueType& type : given) types.push_back(&type);
    if (auto folded = FoldLiterals(name, types)) return *std::move(folded);
    FM_ASSIGN_OR_RETURN(const ElementwiseCall call, resolve(types));
    ValueType result;
    result.dtype = call.result;
    FM_ASSIGN_OR_RETURN(result.shape, BroadcastAll(types));
    return result;
  };
  function.compute = ElementwiseCompute(arity, arity, std::move(resolve));
  return function;
}

// A function whose operands and result have one dtype.
struct ArithmeticRule {
  const char* name;
  size_t arity;
  Loop (*loop)(DType);
  // Dtype to which operands are converted if all of them are bool, and whether
  // integers and bools are converted to float64.
  DType bools = DType::kBool;
  bool integers_become_float64 = false;
  const char* bad_item = "";
};

constexpr ArithmeticRule kArithmetic[] = {
    {"add", 2, AddLoop},
    {"subtract", 2, SubtractLoop},
    {"multiply", 2, MultiplyLoop},
    {"divide", 2, DivideLoop, DType::kBool, true},
    {"floor_divide", 2, FloorDivideLoop, DType::kInt8, false,
     "integer division by zero"},
    {"remainder", 2, RemainderLoop, DType::kInt8, false,
     "integer division by zero"},
    {"negative", 1, NegativeLoop},
    {"positive", 1, PositiveLoop},
    {"abs", 1, AbsLoop},
    {"square", 1, SquareLoop, DType::kInt8},
    {"sign", 1, SignLoop},
    {"bitwise_and", 2, BitwiseAndLoop},
    {"bitwise_or", 2, BitwiseOrLoop},
    {"bitwise_xor", 2, BitwiseXorLoop},
    {"invert", 1, InvertLoop},
    {"left_shift", 2, LeftShiftLoop, DType::kInt8, false,
     "shift by a negative amount"},
    {"right_shift", 2, RightShiftLoop, DType::kInt8, false,
     "shift by a negative amount"},
    {"sqrt", 1, SqrtLoop, DType::kBool, true},
    {"exp", 1, ExpLoop, DType::kBool, true},
    {"log", 1, LogLoop, DType::kBool, true},
    {"sin", 1, SinLoop, DType::kBool, true},
    {"cos", 1, CosLoop, DType::kBool, true},
    {"tanh", 1, TanhLoop, DType::kBool, true},
    {"log1p", 1, Log1pLoop, DType::kBool, true},
    {"expm1", 1, Expm1Loop, DType::kBool, true},
    {"floor", 1, FloorLoop},
    {"ceil", 1, CeilLoop},
    {"round", 1, RoundLoop},
    {"minimum", 2, MinimumLoop},
    {"maximum", 2, MaximumLoop},
    {"clip", 3, ClipLoop},
};

absl::StatusOr<ElementwiseCall> ResolveArithmetic(const ArithmeticRule& rule,
                                                  const Types& types) {
  FM_ASSIGN_OR_RETURN(DType calc, CommonDType(rule.name, types));
  const DType given = calc;
  if (calc == DType::kBool) calc = rule.bools;
  if (rule.integers_become_float64 && !IsFloat(calc)) calc = DType::kFloat64;
  FM_RETURN_IF_ERROR(CheckLiterals(rule.name, types, calc));
  ElementwiseCall call;
  call.operands = {calc, calc, calc};
  call.result = calc;
  call.loop = rule.loop(calc);
  call.bad_item = rule.bad_item;
  if (call.loop == nullptr) return NoMeaning(rule.name, given);
  return call;
}

// Integers are neither NaN nor infinite, so converting them changes nothing.
constexpr ArithmeticRule kTests[] = {
    {"isnan", 1, IsNanLoop, DType::kBool, true},
    {"isfinite", 1, IsFiniteLoop, DType::kBool, true},
};

absl::StatusOr<ElementwiseCall> ResolveTest(const ArithmeticRule& rule,
                                            const Types& types) {
  FM_ASSIGN_OR_RETURN(ElementwiseCall call, ResolveArithmetic(rule, types));
  call.result = DType::kBool;
  return call;
}

constexpr ArithmeticRule kPower = {
    "power",      2,     PowerLoop,
    DType::kInt8, false, "an integer to a negative integer power"};

absl::StatusOr<ElementwiseCall> ResolvePower(const Types& types) {
  FM_ASSIGN_OR_RETURN(const ElementwiseCall call,
                      ResolveArithmetic(kPower, types));
  if (IsInteger(call.result) && IsWeakInteger(*types[1])) {
    const auto* exponent = std::get_if<int64_t>(&types[1]->literal->value);
    if (exponent != nullptr && *exponent < 0) {
      return InvalidArgument(
          "power: an integer to the negative power {}; write a float, as in "
          "cast(x, float64) ** {}",
          *exponent, *exponent);
    }
  }
  return call;
}

bool IsIntegerLike(const ValueType& type) { return IsInteger(type.dtype); }

DType Widest(DType integer) {
  return IsSigned(integer) ? DType::kInt64 : DType::kUInt64;
}

// Integers compare exactly for all dtypes and literals.
absl::StatusOr<std::pair<DType, DType>> ComparisonDTypes(std::string_view name,
                                                         const ValueType& a,
                                                         const ValueType& b) {
  if (a.dtype == DType::kBytes && b.dtype == DType::kBytes) {
    return std::pair(DType::kBytes, DType::kBytes);
  }
  if (a.dtype == DType::kBytes || b.dtype == DType::kBytes) {
    return InvalidArgument(
        "{}: bytes compare with bytes only, not with {}", name,
        DTypeName(a.dtype == DType::kBytes ? b.dtype : a.dtype));
  }
  if (IsIntegerLike(a) && IsIntegerLike(b)) {
    const bool fits = (!IsWeakInteger(a) || LiteralFits(*a.literal, b.dtype)) &&
                      (!IsWeakInteger(b) || LiteralFits(*b.literal, a.dtype));
    const bool exact = PromoteDTypes(a.dtype, b.dtype) != DType::kFloat64;
    if (!exact || !fits) return std::pair(Widest(a.dtype), Widest(b.dtype));
  }
  const ValueType* types[] = {&a, &b};
  FM_ASSIGN_OR_RETURN(const DType calc, CommonDType(name, types));
  FM_RETURN_IF_ERROR(CheckLiterals(name, types, calc));
  return std::pair(calc, calc);
}

absl::StatusOr<ElementwiseCall> ResolveComparison(std::string_view name,
                                                  Comparison comparison,
                                                  const Types& types) {
  FM_ASSIGN_OR_RETURN(const auto dtypes,
                      ComparisonDTypes(name, *types[0], *types[1]));
  ElementwiseCall call;
  call.operands = {dtypes.first, dtypes.second};
  call.result = DType::kBool;
  call.loop = ComparisonLoop(comparison, dtypes.first, dtypes.second);
  return call;
}

absl::StatusOr<ElementwiseCall> ResolveLogic(std::string_view name,
                                             Loop (*loop)(DType),
                                             const Types& types) {
  for (const ValueType* type : types) {
    if (type->dtype == DType::kBytes) {
      return InvalidArgument(
          "{}: bytes have no truth value here; write s != '' or length(s) > 0",
          name);
    }
  }
  ElementwiseCall call;
  call.operands = {DType::kBool, DType::kBool};
  call.result = DType::kBool;
  call.loop = loop(DType::kBool);
  return call;
}

absl::StatusOr<ElementwiseCall> ResolveWhere(const Types& types) {
  if (types[0]->dtype == DType::kBytes) {
    return InvalidArgument("where: the condition is bytes, not a truth value");
  }
  DType result = DType::kBytes;
  if (types[1]->dtype != DType::kBytes || types[2]->dtype != DType::kBytes) {
    FM_ASSIGN_OR_RETURN(result, CommonDType("where", types.subspan(1)));
    FM_RETURN_IF_ERROR(CheckLiterals("where", types.subspan(1), result));
  }
  ElementwiseCall call;
  call.operands = {DType::kBool, result, result};
  call.result = result;
  call.loop = SelectLoop(result);
  return call;
}

absl::StatusOr<ElementwiseCall> ResolveBytes(std::string_view name,
                                             DType result, Loop (*loop)(DType),
                                             const Types& types) {
  if (types[0]->dtype != DType::kBytes) {
    return InvalidArgument("{} takes bytes, not {}", name,
                           DTypeName(types[0]->dtype));
  }
  ElementwiseCall call;
  call.operands = {DType::kBytes};
  call.result = result;
  call.loop = loop(DType::kBytes);
  return call;
}

// lower and upper copy the text, then change the case of the ASCII letters
// [first, first + 26).
FunctionRegistry::Function MakeCaseFunction(std::string name, char first) {
  FunctionRegistry::Function function =
      MakeElementwise(name, 1, [name](const Types& types) {
        return ResolveBytes(name, DType::kBytes, CopyLoop, types);
      });
  function.compute = [copy = function.compute, first](
                         std::span<const Argument> arguments, size_t rows,
                         const ValueType& type,
                         OutputColumn& out) -> absl::Status {
    FM_RETURN_IF_ERROR(copy(arguments, rows, type, out));
    auto* text = out.values.As<unsigned char>();
    const size_t size = out.values.size();
    for (size_t i = 0; i < size; ++i) {
      const bool letter = static_cast<unsigned char>(text[i] - first) < 26;
      text[i] = static_cast<unsigned char>(text[i] ^ (letter ? 0x20 : 0));
    }
    return absl::OkStatus();
  };
  return function;
}

absl::StatusOr<DType> CastTarget(const ValueType& value,
                                 const ValueType& name) {
  const std::string* text =
      name.literal ? std::get_if<std::string>(&name.literal->value) : nullptr;
  const std::optional<NamedType> target =
      text != nullptr ? TypeFromName(*text) : std::nullopt;
  if (!target) {
    return InvalidArgument(
        "cast: the second argument is the name of a dtype, as in "
        "cast(x, float32)");
  }
  const bool time =
      target->dtype == DType::kInt64 && target->logical != LogicalType::kNone;
  const bool fits =
      time ? value.dtype == DType::kInt64 &&
                 (value.logical == LogicalType::kNone ||
                  value.logical == target->logical)
           : (value.dtype == DType::kBytes) == (target->dtype == DType::kBytes);
  if (fits) return target->dtype;
  return InvalidArgument("cast: {} cannot become {}",
                         TypeName(value.dtype, value.logical), *text);
}

FunctionRegistry::Function MakeCast() {
  FunctionRegistry::Function function;
  function.infer =
      [](const std::vector<ValueType>& given) -> absl::StatusOr<ValueType> {
    FM_RETURN_IF_ERROR(ExpectArguments("cast", given.size(), 2));
    ValueType result;
    FM_ASSIGN_OR_RETURN(result.dtype, CastTarget(given[0], given[1]));
    result.shape = given[0].shape;
    return result;
  };
  // The name of the dtype is not an operand.
  function.compute = ElementwiseCompute(
      2, 1, [](const Types& types) -> absl::StatusOr<ElementwiseCall> {
        ElementwiseCall call;
        FM_ASSIGN_OR_RETURN(call.result, CastTarget(*types[0], *types[1]));
        call.operands = {call.result};
        call.loop = CopyLoop(call.result);
        call.converts = call.result != DType::kBytes;
        return call;
      });
  return function;
}

}  // namespace

void AddElementwiseFunctions(FunctionRegistry& registry) {
  for (const ArithmeticRule& rule : kArithmetic) {
    registry.Add(
        rule.name,
        MakeElementwise(rule.name, rule.arity, [&rule](const Types& types) {
          return ResolveArithmetic(rule, types);
        }));
  }
  for (const ArithmeticRule& rule : kTests) {
    registry.Add(rule.name, MakeElementwise(rule.name, rule.arity,
                                            [&rule](const Types& types) {
                                              return ResolveTest(rule, types);
                                            }));
  }
  registry.Add("power", MakeElementwise("power", 2, ResolvePower));
  constexpr std::pair<const char*, Comparison> kComparisons[] = {
      {"less", Comparison::kLess},
      {"less_equal", Comparison::kLessEqual},
      {"greater", Comparison::kGreater},
      {"greater_equal", Comparison::kGreaterEqual},
      {"equal", Comparison::kEqual},
      {"not_equal", Comparison::kNotEqual}};
  for (const auto& [name, comparison] : kComparisons) {
    registry.Add(
        name, MakeElementwise(
                  name, 2,
                  [name = name, comparison = comparison](const Types& types) {
                    return ResolveComparison(name, comparison, types);
                  }));
  }
  struct Logic {
    const char* name;
    size_t arity;
    Loop (*loop)(DType);
  };
  constexpr Logic kLogic[] = {{"logical_and", 2, LogicalAndLoop},
                              {"logical_or", 2, LogicalOrLoop},
                              {"logical_not", 1, LogicalNotLoop}};
  for (const Logic& logic : kLogic) {
    registry.Add(
        logic.name,
        MakeElementwise(logic.name, logic.arity, [logic](const Types& types) {
          return ResolveLogic(logic.name, logic.loop, types);
        }));
  }
  registry.Add("where", MakeElementwise("where", 3, ResolveWhere));
  registry.Add("lower", MakeCaseFunction("lower", 'A'));
  registry.Add("upper", MakeCaseFunction("upper", 'a'));
  registry.Add("cast", MakeCast());
  registry.Describe(
      {{"add", "subtract", "multiply", "divide", "floor_divide", "remainder",
        "power", "negative", "positive"},
       "`a + b`, `-`, `*`, `/`, `//`, `%`, `**`, `-a`, `+a`",
       "wrapping integers; `//`, `%` floored; integer division by zero is a "
       "data error; `/` of integers is float64; bool as NumPy (add is or, "
       "subtract and negative are errors)"});
  registry.Describe(
      {{"bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift",
        "right_shift"},
       "`a & b`, `|`, `^`, `~a`, `<<`, `>>`",
       "integers and bools; shifts by ≥ width give 0 (or −1 for a negative "
       "right-shifted), by negative amounts are a data error"});
  registry.Describe(
      {{"less", "less_equal", "greater", "greater_equal", "equal", "not_equal"},
       "`<` `<=` `>` `>=` `==` `!=`",
       "bool; bytes compare bytewise; chains as in Python"});
  registry.Describe({{"logical_and", "logical_or", "logical_not"},
                     "`and`, `or`, `not`",
                     "element-wise on truth values, bool"});
  registry.Describe({{"abs", "minimum", "maximum", "clip", "where"},
                     "`abs(a)` `minimum(a, b)` `maximum(a, b)` `clip(a, lo, "
                     "hi)` `where(c, a, b)`",
                     "NaN propagates in minimum and maximum"});
  registry.Describe(
      {{"sqrt", "exp", "log", "floor", "ceil", "round", "square", "sign"},
       "`sqrt` `exp` `log` `floor` `ceil` `round` `square` `sign`",
       "integers give float64 for sqrt, exp, log; `round` half to even"});
  registry.Describe({{"sin", "cos", "tanh", "log1p", "expm1"},
                     "`sin` `cos` `tanh` `log1p` `expm1`",
                     "integers give float64"});
  registry.Describe(
      {{"isnan", "isfinite"}, "`isnan(a)` `isfinite(a)`", "bool"});
  registry.Describe({{"cast"},
                     "`cast(a, float32)` `cast(s, bytes)` `cast(s, str)` "
                     "`cast(n, 'timestamp[us]')`",
                     "NumPy's astype; a float that does not fit an integer "
                     "gives what x86-64 gives; to bool: != 0. Bytes and int64 "
                     "stay as they are: [what they stand for](#text-and-times) "
                     "changes"});
  registry.Describe(
      {{"lower", "upper"}, "`lower(s)` `upper(s)`", "ASCII case"});
}

}  // namespace feedmill
