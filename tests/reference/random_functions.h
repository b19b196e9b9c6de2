#ifndef FEEDMILL_TESTS_REFERENCE_RANDOM_FUNCTIONS_H_
#define FEEDMILL_TESTS_REFERENCE_RANDOM_FUNCTIONS_H_

#include <array>
#include <cstdint>
#include <functional>
#include <optional>

#include "feedmill/expr.h"
#include "tests/reference/interpreter.h"

namespace feedmill::reference {

// Returns the expression with the four words of its block as the first
// arguments of each random call. `draw` makes the block of an ordinal. Calls
// are numbered from `next`, each before the calls in its arguments.
Expr WithDraws(const Expr& expr,
               const std::function<std::array<uint32_t, 4>(uint64_t)>& draw,
               uint64_t& next);

// Evaluates a random function with given words; nullopt for other functions.
// `argument(k)` and `evaluate` return the value of an argument and of an
// expression for the element. Throws DataError.
std::optional<Tensor> RandomFunction(
    const Expr::Call& call, const std::function<Tensor(size_t)>& argument,
    const std::function<Tensor(const Expr&)>& evaluate);

}  // namespace feedmill::reference

#endif  // FEEDMILL_TESTS_REFERENCE_RANDOM_FUNCTIONS_H_
