#ifndef FEEDMILL_CORE_OPS_ROW_ITEMS_H_
#define FEEDMILL_CORE_OPS_ROW_ITEMS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "core/dataset/function_registry.h"
#include "core/ops/convert_items.h"

// What functions that move items between rows share: their constant arguments
// and the shapes of their rows.

namespace feedmill {

// The integer literal that an argument has to be. InvalidArgument says that
// `where` ("slice: the axis") is one.
absl::StatusOr<int64_t> ConstantInteger(std::string_view where,
                                        const ValueType& type);
// A list of integer literals, or one literal as a list of one.
absl::StatusOr<Shape> ConstantIntegers(std::string_view where,
                                       const ValueType& type);
// A bytes literal.
absl::StatusOr<std::string> ConstantText(std::string_view where,
                                         const ValueType& type);
// A dtype by its name.
absl::StatusOr<DType> ConstantDType(std::string_view where,
                                    const ValueType& type);
// An axis of a value of that rank, counted from the end if negative.
absl::StatusOr<size_t> ConstantAxis(std::string_view function,
                                    const ValueType& type, size_t rank);

bool HasUnknownDim(const Shape& shape);
// The product of known dims.
int64_t Product(std::span<const int64_t> dims);

// The row of the argument's column that stands for `row`.
inline size_t RowOf(const Argument& argument, size_t row) {
  return argument.constant ? 0 : row;
}

// The number that an argument, a scalar, is in a row, as a T.
template <class T>
T NumberAt(const Argument& argument, size_t row) {
  const Column& column = *argument.column;
  T value{};
  ConvertItems(
      column.dtype,
      column.values.data() + RowOf(argument, row) * ItemSize(column.dtype),
      DTypeOf<T>(), &value, 1);
  return value;
}

// Empties `out` for a result of that type, whose rows are ragged or not.
void StartRows(const ValueType& type, bool ragged, OutputColumn& out);
// Declares a ragged row that was appended. REQUIRES: StartRows as ragged.
void EndRaggedRow(std::span<const int64_t> dims, OutputColumn& out);
// Items [begin, begin + count) of `from`, which has the result's dtype.
void AppendItems(const Column& from, int64_t begin, int64_t count,
                 OutputColumn& out);

// Gives the result the shapes of the argument's rows, all `rows` of them, for
// a function of each item alone. The number of items is returned.
int64_t CopyRowShapes(const Argument& argument, size_t rows,
                      const ValueType& type, OutputColumn& out);

// As DataLoss, which errors in the shape of one row are.
absl::Status AsDataLoss(const absl::Status& status);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_ROW_ITEMS_H_
