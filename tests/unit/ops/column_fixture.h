#ifndef FEEDMILL_TESTS_UNIT_OPS_COLUMN_FIXTURE_H_
#define FEEDMILL_TESTS_UNIT_OPS_COLUMN_FIXTURE_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/chunk/buffer_builder.h"
#include "core/dataset/function_registry.h"
#include "feedmill/element.h"

namespace feedmill::testing {

// A uniform column of `shape` rows holding `items`.
template <class T>
Column ColumnOf(DType dtype, Shape shape, const std::vector<T>& items) {
  BufferBuilder values;
  values.Append(items.data(), items.size() * sizeof(T));
  Column column;
  column.dtype = dtype;
  column.shape = std::move(shape);
  column.values = std::move(values).Freeze();
  return column;
}

// Makes a column with rows of different shapes.
template <class T>
Column RaggedColumn(DType dtype, size_t rank,
                    const std::vector<std::pair<Shape, std::vector<T>>>& rows) {
  BufferBuilder values;
  BufferBuilder shapes;
  BufferBuilder starts;
  int64_t total = 0;
  starts.Push(total);
  for (const auto& [shape, items] : rows) {
    values.Append(items.data(), items.size() * sizeof(T));
    shapes.Append(shape.data(), shape.size() * sizeof(int64_t));
    total += static_cast<int64_t>(items.size());
    starts.Push(total);
  }
  Column column;
  column.dtype = dtype;
  column.shape.assign(rank, kUnknownDim);
  column.values = std::move(values).Freeze();
  column.row_shapes = std::move(shapes).Freeze();
  column.row_starts = std::move(starts).Freeze();
  return column;
}

// Makes a column of strings with `shape` per row.
Column BytesColumn(Shape shape, const std::vector<std::string>& items);

// A call as in a compiled expression: infers types, then computes all
// rows twice into the same memory.
struct CallArgument {
  Column column;
  ValueType type;
  bool constant = false;
};
CallArgument Of(Column column);
CallArgument Constant(Column one_row);
CallArgument LiteralOf(Expr::Literal literal);

struct CallResult {
  absl::Status built;     // of inference
  absl::Status computed;  // of computing
  size_t failed_row = 0;
  ValueType type;
  Column column;
};
CallResult Call(const FunctionRegistry& registry, std::string_view function,
                const std::vector<CallArgument>& arguments, size_t rows);

// Returns all items as T. REQUIRES: uniform or ragged from the first value on.
template <class T>
std::vector<T> Items(const Column& column) {
  const auto items = column.values.As<T>();
  return {items.begin(), items.end()};
}
std::vector<std::string> Strings(const Column& column);

}  // namespace feedmill::testing

#endif  // FEEDMILL_TESTS_UNIT_OPS_COLUMN_FIXTURE_H_
