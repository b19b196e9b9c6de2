#ifndef FEEDMILL_TESTS_REFERENCE_IMAGE_FUNCTIONS_H_
#define FEEDMILL_TESTS_REFERENCE_IMAGE_FUNCTIONS_H_

#include <functional>
#include <optional>

#include "feedmill/expr.h"
#include "tests/reference/interpreter.h"

namespace feedmill::reference {

// Evaluates a function image.…; nullopt for other functions. Images are
// [height, width] or [height, width, channels]. Throws DataError.
std::optional<Tensor> ImageFunction(
    const Expr::Call& call, const std::function<Tensor(size_t)>& argument);

}  // namespace feedmill::reference

#endif  // FEEDMILL_TESTS_REFERENCE_IMAGE_FUNCTIONS_H_
