#include "tests/unit/ops/column_fixture.h"

#include <gtest/gtest.h>

#include "core/ops/constant_column.h"

namespace feedmill::testing {

Column BytesColumn(Shape shape, const std::vector<std::string>& items) {
  BufferBuilder values;
  BufferBuilder offsets;
  offsets.Push(int64_t{0});
  for (const std::string& item : items) {
    values.Append(item.data(), item.size());
    offsets.Push(static_cast<int64_t>(values.size()));
  }
  Column column;
  column.dtype = DType::kBytes;
  column.shape = std::move(shape);
  column.values = std::move(values).Freeze();
  column.offsets = std::move(offsets).Freeze();
  return column;
}

CallArgument Of(Column column) {
  CallArgument argument;
  argument.type.dtype = column.dtype;
  argument.type.shape = column.shape;
  argument.column = std::move(column);
  return argument;
}

CallArgument Constant(Column one_row) {
  CallArgument argument = Of(std::move(one_row));
  argument.constant = true;
  return argument;
}

CallArgument LiteralOf(Expr::Literal literal) {
  CallArgument argument = Constant(ConstantColumn(literal));
  argument.type.weak = argument.type.dtype != DType::kBytes;
  argument.type.literal = std::move(literal);
  return argument;
}

CallResult Call(const FunctionRegistry& registry, std::string_view function,
                const std::vector<CallArgument>& arguments, size_t rows) {
  CallResult result;
  const FunctionRegistry::Function* found = registry.Find(function);
  if (found == nullptr) {
    ADD_FAILURE() << "no function " << function;
    return result;
  }
  std::vector<ValueType> types;
  std::vector<Argument> given;
  for (const CallArgument& argument : arguments) {
    types.push_back(argument.type);
    given.push_back({&argument.type, &argument.column, argument.constant});
  }
  absl::StatusOr<ValueType> type = found->infer(types);
  if (!type.ok()) {
    result.built = type.status();
    return result;
  }
  result.type = *std::move(type);
  if (result.type.literal) {
    result.column = ConstantColumn(*result.type.literal);
    return result;
  }
  OutputColumn out;
  for (int pass = 0; pass < 2; ++pass) {
    result.computed = found->compute(given, rows, result.type, out);
    result.failed_row = out.failed_row;
  }
  result.column = out.Take();
  return result;
}

std::vector<std::string> Strings(const Column& column) {
  std::vector<std::string> strings;
  const size_t items = column.offsets.size() / sizeof(int64_t) - 1;
  for (size_t i = 0; i < items; ++i) {
    strings.emplace_back(column.BytesAt(static_cast<int64_t>(i)));
  }
  return strings;
}

}  // namespace feedmill::testing
