#ifndef FEEDMILL_EXPR_H_
#define FEEDMILL_EXPR_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "feedmill/element.h"

// Expressions over the components of elements, and the functions of plugins
// that they may call.
//
//   using feedmill::Expr;
//   dataset.Filter(Expr::Named("rooms") > 1 && Expr::Named("area") < 200)
//       .Map({{"root", Expr::Apply("sqrt", {Expr::Named("area")})}});

// Private to the library.
namespace feedmill {
class FunctionRegistry;
}  // namespace feedmill

// Exported from libfeedmill.so.
#pragma GCC visibility push(default)
namespace feedmill {

// An expression over the components of an element: a literal, a component, or
// a function applied to expressions. Operators are functions too, under
// NumPy's names (docs/expressions.md): x + 1 is add(x, 1), a < b is less(a, b),
// `and`, `or`, `not` are logical_and, logical_or, logical_not; a chained
// comparison is the logical_and of its parts; a[i] is getitem(a, i).
//
// In text, a component whose name is not an identifier is written
// component('image/encoded'); [2, 3] is list(2, 3).
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

  // Bounds of an expression: depth, number of nodes, bytes of its text. A
  // shared node counts at each use. Each 64 bytes of a name or string count as
  // one.
  static constexpr size_t kHeightMax = 200;
  static constexpr size_t kNodesMax = 10'000;
  static constexpr size_t kBytesPerNode = 64;
  static constexpr size_t kTextMax = size_t{4} << 20;

  Expr() : Expr(int64_t{0}) {}
  Expr(bool value) : Expr(Literal{value}) {}     // NOLINT: literals
  Expr(int value) : Expr(int64_t{value}) {}      // NOLINT: are meant
  Expr(int64_t value) : Expr(Literal{value}) {}  // NOLINT: to convert
  Expr(double value) : Expr(Literal{value}) {}   // NOLINT
  Expr(const char* bytes) : Expr(Literal{std::string(bytes)}) {}  // NOLINT
  explicit Expr(Node node);
  explicit Expr(Literal literal) : Expr(Node(std::move(literal))) {}

  static Expr Named(std::string component);
  static Expr Apply(std::string function, std::vector<Expr> arguments);

  // Parses Python's syntax and precedence. Errors quote the text and name the
  // column (in bytes, from 1). Bounded by the constants above.
  static absl::StatusOr<Expr> Parse(std::string_view text);

  const Node& node() const { return rep_->node; }
  // 1 for a literal or component; one more than the highest argument's.
  size_t height() const { return rep_->height; }
  // Nodes of the tree, counted as above; saturates.
  size_t nodes() const { return rep_->nodes; }
  // Canonical text that Parse takes back: minimal parentheses are not
  // promised, equality is. An expression beyond the bounds above gives a short
  // text that Parse refuses.
  std::string ToString() const;

 private:
  struct Rep {
    Node node;
    size_t height = 1;
    size_t nodes = 1;
  };
  std::shared_ptr<const Rep> rep_;
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

// Functions. docs/expressions.md lists all; those without a name here are
// Expr::Apply("name", {arguments}).

// The value as another dtype. Example: Cast(Expr::Named("x"), DType::kFloat32).
Expr Cast(Expr value, DType dtype);
// if_true where the condition, bool, is true, else if_false.
Expr Where(Expr condition, Expr if_true, Expr if_false);
// The quotient, rounded down, as Python's //.
Expr FloorDivide(Expr a, Expr b);
// array[index] along the first axis; a negative index counts from the end.
Expr GetItem(Expr array, int64_t index);

// Loads the functions that expressions may call: the built-in functions and the
// functions of these plugins (plugin.h). For ReadHooks::registry and the
// registry of WorkerConfig, DispatcherConfig, ServerConfig and RegistryConfig.
// Without it, these have the plugins of the variable FEEDMILL_OP_PLUGINS.
//
//   auto functions = feedmill::LoadFunctions({"/opt/ops/my_ops.so"});
//   if (!functions.ok()) return functions.status();
//   auto reader = feedmill::Read(dataset, {.hooks = {.registry = *functions}});
//
// A plugin stays loaded. InvalidArgument names the file and the reason: the
// file cannot be loaded, is no plugin or one of another version of plugin.h,
// or has a function whose name is taken.
absl::StatusOr<std::shared_ptr<const FunctionRegistry>> LoadFunctions(
    const std::vector<std::string>& plugins);

}  // namespace feedmill
#pragma GCC visibility pop

#endif  // FEEDMILL_EXPR_H_
