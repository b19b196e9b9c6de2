#ifndef FEEDMILL_CORE_OPS_ROW_ITEMS_H_
#define FEEDMILL_CORE_OPS_ROW_ITEMS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/dataset/function_registry.h"
#include "core/ops/convert_items.h"

// Shared parts of functions that move items between rows: constant arguments
// and shapes of rows.

namespace feedmill {

// Returns the integer literal of an argument. InvalidArgument if it is none;
// the message begins with `where` ("slice: the axis").
absl::StatusOr<int64_t> ConstantInteger(std::string_view where,
                                        const ValueType& type);
// Returns a list of integer literals, or one literal as a list of one.
absl::StatusOr<Shape> ConstantIntegers(std::string_view where,
                                       const ValueType& type);
// Returns a bytes literal.
absl::StatusOr<std::string> ConstantText(std::string_view where,
                                         const ValueType& type);
// Returns a dtype from its name.
absl::StatusOr<DType> ConstantDType(std::string_view where,
                                    const ValueType& type);
// Returns an axis of a value of that rank; negative axes count from the end.
absl::StatusOr<size_t> ConstantAxis(std::string_view function,
                                    const ValueType& type, size_t rank);

// Returns the types of all arguments.
std::vector<const ValueType*> TypesOf(const std::vector<ValueType>& given);
std::vector<const ValueType*> TypesOf(std::span<const Argument> arguments);

bool HasUnknownDim(const Shape& shape);
// Returns the product of dims. REQUIRES: all are known.
int64_t Product(std::span<const int64_t> dims);

// Returns the row of the argument's column for row `row`.
inline size_t RowOf(const Argument& argument, size_t row) {
  return argument.constant ? 0 : row;
}

// Returns the number of a scalar argument in a row, converted to T.
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

// Dims before an axis, the axis itself, and the dims after it: products. A row
// is `outer` blocks of `dim` parts of `inner` items.
struct AxisSplit {
  int64_t outer = 1, dim = 1, inner = 1;
};
AxisSplit SplitAtAxis(std::span<const int64_t> dims, size_t axis);

// Returns an integer scalar of each row; one value for all rows if the argument
// is constant. A uint64 above the int64 range gives the largest int64.
std::vector<int64_t> IntegersOf(const Argument& argument, size_t rows);
// InvalidArgument unless the type is one integer a row. The message begins with
// `where`.
absl::Status CheckIsInteger(std::string_view where, const ValueType& type);

// Empties `out` for a result of that type with ragged or uniform rows.
void StartRows(const ValueType& type, bool ragged, OutputColumn& out);
// Ends a ragged row of appended items. REQUIRES: StartRows with ragged.
void EndRaggedRow(std::span<const int64_t> dims, OutputColumn& out);
// Appends items [begin, begin + count) of `from`. REQUIRES: the same dtype.
void AppendItems(const Column& from, int64_t begin, int64_t count,
                 OutputColumn& out);

// Gives the result the shapes of the argument's `rows` rows, for a function on
// single items. Returns the number of items.
int64_t CopyRowShapes(const Argument& argument, size_t rows,
                      const ValueType& type, OutputColumn& out);

// Converts an error to DataLoss: the shape of one row is data.
absl::Status AsDataLoss(const absl::Status& status);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_ROW_ITEMS_H_
