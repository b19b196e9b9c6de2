#ifndef FEEDMILL_CORE_OPS_LITERAL_FOLDING_H_
#define FEEDMILL_CORE_OPS_LITERAL_FOLDING_H_

#include <optional>
#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "core/dataset/function_registry.h"

namespace feedmill {

// Returns the result of a Python operator on Python numbers: 1 + 2 is the
// literal 3, -1 is a literal, 2 ** 3 is 8. Nullopt for functions that are not
// Python operators, and unless all arguments are number literals.
// InvalidArgument if Python raises, or for integers of more than 64 bits.
std::optional<absl::StatusOr<ValueType>> FoldLiterals(
    std::string_view function, std::span<const ValueType* const> arguments);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_LITERAL_FOLDING_H_
