#include "plugins/arrow/parquet_statistics.h"

#include <arrow/scalar.h>
#include <parquet/arrow/reader.h>
#include <parquet/statistics.h>

#include <memory>
#include <optional>
#include <string>

namespace feedmill {
namespace {

template <class ArrowScalar>
auto ValueOf(const arrow::Scalar& scalar) {
  return static_cast<const ArrowScalar&>(scalar).value;
}

// Returns the value of a scalar that becomes `dtype` without a conversion.
std::optional<Expr::Literal> LiteralOf(const arrow::Scalar& scalar,
                                       DType dtype) {
  using arrow::Type;
  const auto as = [dtype](DType of_scalar, auto value) {
    return dtype == of_scalar ? std::optional(Expr::Literal{value})
                              : std::nullopt;
  };
  if (!scalar.is_valid) return std::nullopt;
  switch (scalar.type->id()) {
    case Type::BOOL:
      return as(DType::kBool, ValueOf<arrow::BooleanScalar>(scalar));
    case Type::INT8:
      return as(DType::kInt8, int64_t{ValueOf<arrow::Int8Scalar>(scalar)});
    case Type::INT16:
      return as(DType::kInt16, int64_t{ValueOf<arrow::Int16Scalar>(scalar)});
    case Type::INT32:
      return as(DType::kInt32, int64_t{ValueOf<arrow::Int32Scalar>(scalar)});
    case Type::INT64:
      return as(DType::kInt64, int64_t{ValueOf<arrow::Int64Scalar>(scalar)});
    case Type::UINT8:
      return as(DType::kUInt8, uint64_t{ValueOf<arrow::UInt8Scalar>(scalar)});
    case Type::UINT16:
      return as(DType::kUInt16, uint64_t{ValueOf<arrow::UInt16Scalar>(scalar)});
    case Type::UINT32:
      return as(DType::kUInt32, uint64_t{ValueOf<arrow::UInt32Scalar>(scalar)});
    case Type::UINT64:
      return as(DType::kUInt64, uint64_t{ValueOf<arrow::UInt64Scalar>(scalar)});
    case Type::FLOAT:
      return as(DType::kFloat32, double{ValueOf<arrow::FloatScalar>(scalar)});
    case Type::DOUBLE:
      return as(DType::kFloat64, ValueOf<arrow::DoubleScalar>(scalar));
    case Type::STRING:
    case Type::BINARY:
      return as(
          DType::kBytes,
          std::string(
              static_cast<const arrow::BaseBinaryScalar&>(scalar).view()));
    default:
      return std::nullopt;
  }
}

}  // namespace

ColumnStatistics StatisticsOfChunk(const parquet::ColumnChunkMetaData& chunk,
                                   const parquet::ColumnDescriptor& column,
                                   const SourceField& field) {
  ColumnStatistics out;
  const bool scalar = field.shape.empty() && column.max_repetition_level() == 0;
  const std::shared_ptr<parquet::Statistics> known =
      chunk.is_stats_set() ? chunk.statistics() : nullptr;
  const bool no_nulls =
      column.max_definition_level() == 0 ||
      (known != nullptr && known->HasNullCount() && known->null_count() == 0);
  // A null is NaN in floats and empty in bytes.
  const bool takes_null =
      scalar && (IsFloat(field.dtype) || field.dtype == DType::kBytes);
  out.faultless = no_nulls || takes_null;
  if (known == nullptr || !known->HasMinMax() || !scalar) return out;
  std::shared_ptr<arrow::Scalar> low;
  std::shared_ptr<arrow::Scalar> high;
  if (!parquet::arrow::StatisticsAsScalars(*known, &low, &high).ok()) {
    return out;
  }
  const auto least = LiteralOf(*low, field.dtype);
  const auto largest = LiteralOf(*high, field.dtype);
  if (!least || !largest) return out;
  out.range = ValueRange{*least, *largest};
  if (field.dtype == DType::kBytes && !no_nulls) {
    out.range->low = Expr::Literal{std::string()};
  }
  return out;
}

}  // namespace feedmill
