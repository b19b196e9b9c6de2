#ifndef FEEDMILL_CORE_OPS_CONSTANT_COLUMN_H_
#define FEEDMILL_CORE_OPS_CONSTANT_COLUMN_H_

#include "feedmill/chunk.h"
#include "feedmill/expr.h"

namespace feedmill {

// A literal as a column of one row: what Argument::column of a constant
// argument points to (core/dataset/function_registry.h).
Column ConstantColumn(const Expr::Literal& literal);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_CONSTANT_COLUMN_H_
