#include "feedmill/expr.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/base/status.h"

namespace feedmill {
namespace {

struct Operator {
  std::string_view symbol;
  std::string_view function;
};
constexpr std::array<Operator, 20> kBinary = {{
    {"+", "add"},           {"-", "subtract"},
    {"*", "multiply"},      {"/", "divide"},
    {"//", "floor_divide"}, {"%", "remainder"},
    {"**", "power"},        {"&", "bitwise_and"},
    {"|", "bitwise_or"},    {"^", "bitwise_xor"},
    {"<<", "left_shift"},   {">>", "right_shift"},
    {"<", "less"},          {"<=", "less_equal"},
    {">", "greater"},       {">=", "greater_equal"},
    {"==", "equal"},        {"!=", "not_equal"},
    {"and", "logical_and"}, {"or", "logical_or"},
}};
constexpr std::array<Operator, 4> kUnary = {{
    {"-", "negative"},
    {"+", "positive"},
    {"~", "invert"},
    {"not ", "logical_not"},
}};
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

void Append(const Expr& expr, bool as_operand, std::string& out);

void AppendList(const std::vector<Expr>& items, std::string& out) {
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += ", ";
    Append(items[i], false, out);
  }
}

// Appends a call that has its own syntax; returns false if it has none.
bool AppendOperator(const Expr::Call& call, std::string& out) {
  const std::vector<Expr>& arguments = call.arguments;
  if (call.function == "list") {
    out += '[';
    AppendList(arguments, out);
    out += ']';
    return true;
  }
  if (call.function == "getitem" && arguments.size() == 2) {
    Append(arguments[0], true, out);
    out += '[';
    Append(arguments[1], false, out);
    out += ']';
    return true;
  }
  if (arguments.size() == 2) {
    for (const Operator& op : kBinary) {
      if (op.function != call.function) continue;
      out += '(';
      Append(arguments[0], true, out);
      out += fmt::format(" {} ", op.symbol);
      Append(arguments[1], true, out);
      out += ')';
      return true;
    }
  }
  if (arguments.size() == 1) {
    for (const Operator& op : kUnary) {
      if (op.function != call.function) continue;
      // -(5) would be parsed as the literal -5.
      const auto* literal = std::get_if<Expr::Literal>(&arguments[0].node());
      if (literal != nullptr && !IsNan(*literal) &&
          op.function != "logical_not") {
        return false;
      }
      out += fmt::format("({}", op.symbol);
      Append(arguments[0], true, out);
      out += ')';
      return true;
    }
  }
  return false;
}

// as_operand: puts parentheses around an expression that is not a primary.
void Append(const Expr& expr, bool as_operand, std::string& out) {
  if (const auto* literal = std::get_if<Expr::Literal>(&expr.node())) {
    const std::string text = LiteralText(*literal);
    const bool negative = text[0] == '-';
    out += as_operand && negative ? "(" + text + ")" : text;
  } else if (const auto* c = std::get_if<Expr::Component>(&expr.node())) {
    out += IsIdentifier(c->name) ? c->name
                                 : fmt::format("component({})", Quote(c->name));
  } else {
    const auto& call = std::get<Expr::Call>(expr.node());
    if (AppendOperator(call, out)) return;
    out += call.function + "(";
    AppendList(call.arguments, out);
    out += ')';
  }
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

std::string Expr::ToString() const {
  if (height() > kHeightMax || nodes() > kNodesMax) {
    return fmt::format("<{} nodes, {} deep>", nodes(), height());
  }
  std::string out;
  Append(*this, false, out);
  return out;
}

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
