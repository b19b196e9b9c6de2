#ifndef FEEDMILL_CORE_DATASET_EXPR_OPERATORS_H_
#define FEEDMILL_CORE_DATASET_EXPR_OPERATORS_H_

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "feedmill/expr.h"

namespace feedmill {

// The operators of expressions, with Python's precedence: for the parser
// (expr_parser.cc) and the writer (expr.cc).

// Levels of precedence. An operand of a lower level than its place needs
// parentheses.
inline constexpr int kAnyLevel = 0, kOrLevel = 1, kAndLevel = 2, kNotLevel = 3;
inline constexpr int kCompareLevel = 4, kSignLevel = 11, kPowerLevel = 12;
inline constexpr int kPrimaryLevel = 13;

struct ExprOperator {
  std::string_view symbol;
  std::string_view function;
  int level;
};
// Longer symbols before their prefixes.
inline constexpr std::array<ExprOperator, 19> kExprOperators = {{
    {"**", "power", kPowerLevel},
    {"//", "floor_divide", 10},
    {"<<", "left_shift", 8},
    {">>", "right_shift", 8},
    {"<=", "less_equal", kCompareLevel},
    {">=", "greater_equal", kCompareLevel},
    {"==", "equal", kCompareLevel},
    {"!=", "not_equal", kCompareLevel},
    {"<", "less", kCompareLevel},
    {">", "greater", kCompareLevel},
    {"|", "bitwise_or", 5},
    {"^", "bitwise_xor", 6},
    {"&", "bitwise_and", 7},
    {"+", "add", 9},
    {"-", "subtract", 9},
    {"*", "multiply", 10},
    {"/", "divide", 10},
    {"%", "remainder", 10},
    {"@", "matmul", 10},
}};

// a[start:stop:step] is getslice(a, start, stop, step, axis). A bound that is
// left out is one of these constants.
inline constexpr int64_t kSliceToEnd = std::numeric_limits<int64_t>::max();
inline constexpr int64_t SliceStart(int64_t step) {
  return step < 0 ? kSliceToEnd : 0;
}
inline constexpr int64_t SliceStop(int64_t step) {
  return step < 0 ? std::numeric_limits<int64_t>::min() : kSliceToEnd;
}
// Returns an integer literal; nullopt for another expression.
std::optional<int64_t> SliceBound(const Expr& expr);

// Returns an expression as people write it, with the fewest parentheses.
// Expr::Parse takes it back.
std::string ExprText(const Expr& expr);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_EXPR_OPERATORS_H_
