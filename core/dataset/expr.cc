#include "feedmill/expr.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "core/base/status.h"
#include "core/dataset/expr_operators.h"

namespace feedmill {
namespace {

constexpr std::array<ExprOperator, 2> kLogical = {{
    {"and", "logical_and", kAndLevel},
    {"or", "logical_or", kOrLevel},
}};
constexpr std::array<ExprOperator, 4> kUnary = {{
    {"-", "negative", kSignLevel},
    {"+", "positive", kSignLevel},
    {"~", "invert", kSignLevel},
    {"not ", "logical_not", kNotLevel},
}};
template <size_t n>
const ExprOperator* OperatorOf(const std::array<ExprOperator, n>& operators,
                               std::string_view function) {
  for (const ExprOperator& op : operators) {
    if (op.function == function) return &op;
  }
  return nullptr;
}

// Names that Python reserves. A component with such a name needs
// component('…').
constexpr std::array<std::string_view, 14> kReserved = {
    "and", "or", "not",    "True", "False", "None",  "if",
    "in",  "is", "lambda", "else", "for",   "await", "component"};

bool IsWordStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool IsIdentifier(std::string_view name) {
  if (name.empty() || !IsWordStart(name[0])) return false;
  for (char c : name) {
    if (!IsWordStart(c) && !(c >= '0' && c <= '9')) return false;
  }
  return std::find(kReserved.begin(), kReserved.end(), name) == kReserved.end();
}

// Returns a Python bytes literal in single quotes, ASCII only.
std::string Quote(std::string_view bytes) {
  std::string out = "'";
  for (char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    switch (c) {
      case '\'':
        out += "\\'";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (byte < 0x20 || byte > 0x7e) {
          out += fmt::format("\\x{:02x}", byte);
        } else {
          out += c;
        }
    }
  }
  return out + "'";
}

std::string FloatText(double value) {
  if (std::isinf(value)) return value < 0 ? "-1e999" : "1e999";
  // Python has no literal for NaN, but this arithmetic yields it.
  if (std::isnan(value)) return "(1e999 - 1e999)";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

bool IsNan(const Expr::Literal& literal) {
  const auto* real = std::get_if<double>(&literal.value);
  return real != nullptr && std::isnan(*real);
}

std::string LiteralText(const Expr::Literal& literal) {
  struct Visitor {
    std::string operator()(bool v) const { return v ? "True" : "False"; }
    std::string operator()(int64_t v) const { return fmt::format("{}", v); }
    std::string operator()(uint64_t v) const { return fmt::format("{}", v); }
    std::string operator()(double v) const { return FloatText(v); }
    std::string operator()(const std::string& v) const { return Quote(v); }
  };
  return std::visit(Visitor{}, literal.value);
}

// Writes expressions. The canonical text has parentheses around each operator;
// otherwise only those that the precedence asks for are there.
class ExprWriter {
 public:
  ExprWriter(bool canonical, std::string& out)
      : canonical_(canonical), out_(out) {}

  // Appends an expression in a place that takes `level` and higher ones.
  void Append(const Expr& expr, int level) {
    if (const auto* literal = std::get_if<Expr::Literal>(&expr.node())) {
      const std::string text = LiteralText(*literal);
      const bool bare = canonical_ ? level == kAnyLevel : level <= kSignLevel;
      out_ += text[0] == '-' && !bare ? "(" + text + ")" : text;
    } else if (const auto* c = std::get_if<Expr::Component>(&expr.node())) {
      out_ += IsIdentifier(c->name)
                  ? c->name
                  : fmt::format("component({})", Quote(c->name));
    } else {
      const auto& call = std::get<Expr::Call>(expr.node());
      if (AppendBrackets(call) || AppendOperator(call, level)) return;
      out_ += call.function + "(";
      AppendList(call.arguments);
      out_ += ')';
    }
  }

 private:
  void AppendList(const std::vector<Expr>& items) {
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out_ += ", ";
      Append(items[i], kAnyLevel);
    }
  }

  // Appends a list, an item or a slice; returns false if the call is none.
  bool AppendBrackets(const Expr::Call& call) {
    const std::vector<Expr>& arguments = call.arguments;
    if (call.function == "list") {
      out_ += '[';
      AppendList(arguments);
      out_ += ']';
      return true;
    }
    const bool slice = call.function == "getslice" && arguments.size() == 5;
    const bool item = call.function == "getitem" &&
                      (arguments.size() == 2 || arguments.size() == 3);
    if (!slice && !item) return false;
    constexpr int64_t kAxisMax = 32;
    const auto axis = slice || arguments.size() == 3
                          ? SliceBound(arguments.back())
                          : std::optional<int64_t>(0);
    const auto step = slice ? SliceBound(arguments[3]) : 1;
    if (!axis || std::abs(*axis) > kAxisMax || step.value_or(0) == 0) {
      return false;
    }
    if (item && arguments.size() == 3 && *axis == 0) return false;
    Append(arguments[0], kPrimaryLevel);
    out_ += *axis < 0 ? "[..., " : "[";
    for (int64_t k = 0; k < *axis; ++k) out_ += ":, ";
    if (slice) {
      AppendSlice(arguments, *step);
    } else {
      Append(arguments[1], kAnyLevel);
    }
    for (int64_t k = -1; k > *axis; --k) out_ += ", :";
    out_ += ']';
    return true;
  }

  void AppendSlice(const std::vector<Expr>& arguments, int64_t step) {
    if (SliceBound(arguments[1]) != SliceStart(step)) {
      Append(arguments[1], kAnyLevel);
    }
    out_ += ':';
    if (SliceBound(arguments[2]) != SliceStop(step)) {
      Append(arguments[2], kAnyLevel);
    }
    if (step != 1) out_ += fmt::format(":{}", step);
  }

  // Appends an operator with its operands; returns false if the call is none.
  bool AppendOperator(const Expr::Call& call, int level) {
    const std::vector<Expr>& arguments = call.arguments;
    if (arguments.size() == 2) {
      const ExprOperator* op = OperatorOf(kExprOperators, call.function);
      if (op == nullptr) op = OperatorOf(kLogical, call.function);
      if (op == nullptr) return false;
      const bool power = op->level == kPowerLevel;
      // a < b < c means a < b and b < c.
      const bool chained = op->level == kCompareLevel;
      InParentheses(op->level < level, [&] {
        Append(arguments[0], power ? kPrimaryLevel : op->level + chained);
        out_ += fmt::format(" {} ", op->symbol);
        Append(arguments[1], power ? kSignLevel : op->level + 1);
      });
      return true;
    }
    const ExprOperator* const op = OperatorOf(kUnary, call.function);
    if (op == nullptr || arguments.size() != 1) return false;
    // -(5) would be parsed as the literal -5.
    const auto* literal = std::get_if<Expr::Literal>(&arguments[0].node());
    if (literal != nullptr && !IsNan(*literal) && op->level != kNotLevel) {
      return false;
    }
    InParentheses(op->level < level, [&] {
      out_ += op->symbol;
      Append(arguments[0], op->level);
    });
    return true;
  }

  template <class Write>
  void InParentheses(bool needed, Write&& write) {
    if (needed || canonical_) out_ += '(';
    write();
    if (needed || canonical_) out_ += ')';
  }

  const bool canonical_;
  std::string& out_;
};

std::string TextOfExpr(const Expr& expr, bool canonical) {
  if (expr.height() > Expr::kHeightMax || expr.nodes() > Expr::kNodesMax) {
    return fmt::format("<{} nodes, {} deep>", expr.nodes(), expr.height());
  }
  std::string out;
  ExprWriter(canonical, out).Append(expr, kAnyLevel);
  return out;
}

// Returns the part of a node's text whose size is not bounded elsewhere.
std::string_view TextOf(const Expr::Node& node) {
  if (const auto* literal = std::get_if<Expr::Literal>(&node)) {
    const auto* bytes = std::get_if<std::string>(&literal->value);
    return bytes == nullptr ? std::string_view() : *bytes;
  }
  if (const auto* c = std::get_if<Expr::Component>(&node)) return c->name;
  return std::get<Expr::Call>(node).function;
}

}  // namespace

Expr::Expr(Node node) {
  auto rep = std::make_shared<Rep>();
  rep->node = std::move(node);
  rep->nodes += TextOf(rep->node).size() / kBytesPerNode;
  if (const auto* call = std::get_if<Call>(&rep->node)) {
    for (const Expr& argument : call->arguments) {
      rep->height = std::max(rep->height, argument.height() + 1);
      const size_t room = std::numeric_limits<size_t>::max() - rep->nodes;
      rep->nodes += std::min(room, argument.nodes());
    }
  }
  rep_ = std::move(rep);
}

Expr Expr::Named(std::string component) {
  return Expr(Node(Component{std::move(component)}));
}

Expr Expr::Apply(std::string function, std::vector<Expr> arguments) {
  return Expr(Node(Call{std::move(function), std::move(arguments)}));
}

std::optional<int64_t> SliceBound(const Expr& expr) {
  const auto* literal = std::get_if<Expr::Literal>(&expr.node());
  const auto* integer =
      literal == nullptr ? nullptr : std::get_if<int64_t>(&literal->value);
  return integer == nullptr ? std::nullopt : std::optional(*integer);
}

std::string Expr::ToString() const { return TextOfExpr(*this, true); }

std::string ExprText(const Expr& expr) { return TextOfExpr(expr, false); }

// NOLINTBEGIN(performance-unnecessary-value-param): moved
#define FEEDMILL_DEFINE_BINARY(op, name)                    \
  Expr operator op(Expr a, Expr b) {                        \
    return Expr::Apply(name, {std::move(a), std::move(b)}); \
  }
FEEDMILL_DEFINE_BINARY(+, "add")
FEEDMILL_DEFINE_BINARY(-, "subtract")
FEEDMILL_DEFINE_BINARY(*, "multiply")
FEEDMILL_DEFINE_BINARY(/, "divide")
FEEDMILL_DEFINE_BINARY(%, "remainder")
FEEDMILL_DEFINE_BINARY(<, "less")
FEEDMILL_DEFINE_BINARY(<=, "less_equal")
FEEDMILL_DEFINE_BINARY(>, "greater")
FEEDMILL_DEFINE_BINARY(>=, "greater_equal")
FEEDMILL_DEFINE_BINARY(==, "equal")
FEEDMILL_DEFINE_BINARY(!=, "not_equal")
FEEDMILL_DEFINE_BINARY(&&, "logical_and")
FEEDMILL_DEFINE_BINARY(||, "logical_or")
#undef FEEDMILL_DEFINE_BINARY
Expr operator-(Expr a) { return Expr::Apply("negative", {std::move(a)}); }
Expr operator!(Expr a) { return Expr::Apply("logical_not", {std::move(a)}); }
// NOLINTEND

Expr Cast(Expr value, DType dtype) {
  // A literal, so that a component with the same name does not matter.
  return Expr::Apply(
      "cast",
      {std::move(value), Expr(Expr::Literal{std::string(DTypeName(dtype))})});
}

Expr Where(Expr condition, Expr if_true, Expr if_false) {
  return Expr::Apply(
      "where", {std::move(condition), std::move(if_true), std::move(if_false)});
}

Expr FloorDivide(Expr a, Expr b) {
  return Expr::Apply("floor_divide", {std::move(a), std::move(b)});
}

Expr GetItem(Expr array, int64_t index) {
  return Expr::Apply("getitem", {std::move(array), Expr(index)});
}

}  // namespace feedmill
