#ifndef FEEDMILL_TESTS_REFERENCE_BOX_FUNCTIONS_H_
#define FEEDMILL_TESTS_REFERENCE_BOX_FUNCTIONS_H_

#include <functional>
#include <optional>

#include "feedmill/expr.h"
#include "tests/reference/interpreter.h"

namespace feedmill::reference {

// Evaluates a function of boxes or key points; nullopt for other functions.
// `argument` evaluates an argument. Throws DataError.
std::optional<Tensor> BoxFunction(
    const Expr::Call& call, const std::function<Tensor(size_t)>& argument);

}  // namespace feedmill::reference

#endif  // FEEDMILL_TESTS_REFERENCE_BOX_FUNCTIONS_H_
