#ifndef FEEDMILL_CORE_OPS_MAP_BYTES_H_
#define FEEDMILL_CORE_OPS_MAP_BYTES_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "core/base/status.h"
#include "core/dataset/function_registry.h"
#include "core/ops/row_items.h"

// Functions on single byte strings, with constant parameters.

namespace feedmill {

// Returns the type of a result with dtype `dtype` and the shape of `value`.
// InvalidArgument unless `value` is bytes.
inline absl::StatusOr<ValueType> BytesLike(std::string_view function,
                                           const ValueType& value,
                                           DType dtype) {
  if (value.dtype != DType::kBytes) {
    return InvalidArgument("{} takes bytes, not {}", function,
                           DTypeName(value.dtype));
  }
  ValueType result;
  result.dtype = dtype;
  result.shape = value.shape;
  return result;
}

// Calls item(text), which returns a Status, for every item of every row, in
// order.
template <class F>
absl::Status ForEachText(const Argument& argument, size_t rows,
                         OutputColumn& out, const F& item) {
  const Column& from = *argument.column;
  for (size_t row = 0; row < rows; ++row) {
    const size_t from_row = RowOf(argument, row);
    const int64_t start = from.RowStart(from_row);
    const int64_t end = start + from.RowItems(from_row);
    for (int64_t k = start; k < end; ++k) {
      absl::Status status = item(from.BytesAt(k));
      if (status.ok()) continue;
      out.failed_row = row;
      return status;
    }
  }
  return absl::OkStatus();
}

// Calls map(text, T& result), which returns a Status, for every item.
template <class T, class F>
absl::Status MapBytesTo(const Argument& argument, size_t rows,
                        const ValueType& type, OutputColumn& out,
                        const F& map) {
  const auto items =
      static_cast<size_t>(CopyRowShapes(argument, rows, type, out));
  T* to = reinterpret_cast<T*>(out.values.Extend(items * sizeof(T)));
  return ForEachText(argument, rows, out,
                     [&](std::string_view text) { return map(text, *to++); });
}

// Calls map(text, BufferBuilder& to), which returns a Status and appends the
// bytes of the result, for every item.
template <class F>
absl::Status MapBytesToBytes(const Argument& argument, size_t rows,
                             const ValueType& type, OutputColumn& out,
                             const F& map) {
  CopyRowShapes(argument, rows, type, out);
  return ForEachText(argument, rows, out, [&](std::string_view text) {
    absl::Status status = map(text, out.values);
    out.offsets.Push(static_cast<int64_t>(out.values.size()));
    return status;
  });
}

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_MAP_BYTES_H_
