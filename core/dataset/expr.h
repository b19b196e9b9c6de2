#ifndef FEEDMILL_CORE_DATASET_EXPR_H_
#define FEEDMILL_CORE_DATASET_EXPR_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"

namespace feedmill {

// An expression over the components of an element: a literal, a component, or
// a function applied to expressions. Operators are functions too, under
// NumPy's names (docs/expressions.md): x + 1 is add(x, 1), a < b is less(a, b),
// `and`, `or`, `not` are logical_and, logical_or, logical_not; a chained
// comparison is the logical_and of its parts; a[i] is getitem(a, i).
//
// A value: immutable, copies share nodes, comparable by ToString().
class Expr {
 public:
  // Python's literals. Numbers are weak in promotion, as in NumPy 2.
  struct Literal {
    std::variant<bool, int64_t, uint64_t, double, std::string> value;
  };
  struct Component {
    std::string name;  // "x" names the single unnamed component
  };
  struct Call {
    std::string function;
    std::vector<Expr> arguments;
  };
  using Node = std::variant<Literal, Component, Call>;

  Expr() : Expr(int64_t{0}) {}
  Expr(bool value) : Expr(Literal{value}) {}            // NOLINT: literals
  Expr(int value) : Expr(int64_t{value}) {}             // NOLINT: are meant
  Expr(int64_t value) : Expr(Literal{value}) {}         // NOLINT: to convert
  Expr(double value) : Expr(Literal{value}) {}          // NOLINT
  Expr(const char* bytes) : Expr(Literal{std::string(bytes)}) {}  // NOLINT
  explicit Expr(Node node) : node_(std::make_shared<Node>(std::move(node))) {}
  explicit Expr(Literal literal) : Expr(Node(std::move(literal))) {}

  static Expr Named(std::string component);
  static Expr Apply(std::string function, std::vector<Expr> arguments);

  // Parses Python's syntax and precedence. Errors name the column.
  static absl::StatusOr<Expr> Parse(std::string_view text);

  const Node& node() const { return *node_; }
  // Canonical text that Parse takes back: minimal parentheses are not
  // promised, equality is.
  std::string ToString() const;

 private:
  std::shared_ptr<const Node> node_;
};

Expr operator+(Expr a, Expr b);
Expr operator-(Expr a, Expr b);
Expr operator*(Expr a, Expr b);
Expr operator/(Expr a, Expr b);
Expr operator%(Expr a, Expr b);
Expr operator-(Expr a);
Expr operator<(Expr a, Expr b);
Expr operator<=(Expr a, Expr b);
Expr operator>(Expr a, Expr b);
Expr operator>=(Expr a, Expr b);
Expr operator==(Expr a, Expr b);
Expr operator!=(Expr a, Expr b);
Expr operator&&(Expr a, Expr b);
Expr operator||(Expr a, Expr b);
Expr operator!(Expr a);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_EXPR_H_
