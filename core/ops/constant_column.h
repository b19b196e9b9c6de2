#ifndef FEEDMILL_CORE_OPS_CONSTANT_COLUMN_H_
#define FEEDMILL_CORE_OPS_CONSTANT_COLUMN_H_

#include "feedmill/element.h"
#include "feedmill/expr.h"

namespace feedmill {

// Returns a literal as a column of one row: the Argument::column of a constant
// argument (core/dataset/function_registry.h).
Column ConstantColumn(const Expr::Literal& literal);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_CONSTANT_COLUMN_H_
