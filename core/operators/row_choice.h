#ifndef FEEDMILL_CORE_OPERATORS_ROW_CHOICE_H_
#define FEEDMILL_CORE_OPERATORS_ROW_CHOICE_H_

#include <cstddef>
#include <span>

#include "core/pipeline/client_step.h"

namespace feedmill {

// Returns copies of these rows of `flow`, in this order.
Flow RowsOf(const Flow& flow, std::span<const size_t> rows);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPERATORS_ROW_CHOICE_H_
