#include "plugins/arrow/parquet_statistics.h"

#include <arrow/array/data.h>
#include <arrow/array/util.h>
#include <arrow/buffer.h>
#include <arrow/scalar.h>
#include <arrow/type.h>
#include <arrow/util/decimal.h>
#include <parquet/arrow/reader.h>
#include <parquet/statistics.h>
#include <parquet/types.h>

#include <charconv>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/numeric/int128.h"
#include "plugins/arrow/bounded_pool.h"

namespace feedmill {
namespace {

template <class ArrowScalar>
auto ValueOf(const arrow::Scalar& scalar) {
  return static_cast<const ArrowScalar&>(scalar).value;
}

// True for two types of times with the same unit.
bool SameUnit(const arrow::DataType& a, const arrow::DataType& b) {
  using arrow::Type;
  if (a.id() != b.id()) return false;
  switch (a.id()) {
    case Type::TIME32:
    case Type::TIME64:
      return static_cast<const arrow::TimeType&>(a).unit() ==
             static_cast<const arrow::TimeType&>(b).unit();
    case Type::TIMESTAMP:
      return static_cast<const arrow::TimestampType&>(a).unit() ==
             static_cast<const arrow::TimestampType&>(b).unit();
    default:
      return true;
  }
}

// Returns the number that a decimal becomes, as DecimalItems does.
std::optional<Expr::Literal> LiteralOfDecimal(const arrow::Decimal128& value,
                                              int32_t scale, DType dtype) {
  if (dtype != DType::kFloat64) return std::nullopt;
  const std::string text = value.ToString(scale);
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return Expr::Literal{number};
}

// Returns the value of a scalar that becomes `dtype` without a conversion.
// `type`: of the column.
std::optional<Expr::Literal> LiteralOf(const arrow::Scalar& scalar,
                                       const arrow::DataType& type,
                                       DType dtype) {
  using arrow::Type;
  const auto time = [&](int64_t value) -> std::optional<Expr::Literal> {
    if (dtype != DType::kInt64 || !SameUnit(*scalar.type, type)) {
      return std::nullopt;
    }
    return Expr::Literal{value};
  };
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
    case Type::DATE32:
      return time(ValueOf<arrow::Date32Scalar>(scalar));
    case Type::DATE64:
      return time(ValueOf<arrow::Date64Scalar>(scalar));
    case Type::TIME32:
      return time(ValueOf<arrow::Time32Scalar>(scalar));
    case Type::TIME64:
      return time(ValueOf<arrow::Time64Scalar>(scalar));
    case Type::TIMESTAMP:
      return time(ValueOf<arrow::TimestampScalar>(scalar));
    case Type::DECIMAL128:
      return LiteralOfDecimal(
          ValueOf<arrow::Decimal128Scalar>(scalar),
          static_cast<const arrow::DecimalType&>(*scalar.type).scale(), dtype);
    default:
      return std::nullopt;
  }
}

// Returns the range of decimals that are stored as integers; nullopt for other
// columns.
std::optional<ValueRange> RangeOfIntegerDecimals(
    const parquet::Statistics& known, const parquet::ColumnDescriptor& column,
    DType dtype) {
  const auto& logical = column.logical_type();
  if (logical == nullptr || !logical->is_decimal()) return std::nullopt;
  int64_t low = 0;
  int64_t high = 0;
  if (known.physical_type() == parquet::Type::INT32) {
    const auto& typed = static_cast<const parquet::Int32Statistics&>(known);
    low = typed.min();
    high = typed.max();
  } else if (known.physical_type() == parquet::Type::INT64) {
    const auto& typed = static_cast<const parquet::Int64Statistics&>(known);
    low = typed.min();
    high = typed.max();
  } else {
    return std::nullopt;
  }
  const int32_t scale =
      static_cast<const parquet::DecimalLogicalType&>(*logical).scale();
  const auto least = LiteralOfDecimal(arrow::Decimal128(low), scale, dtype);
  const auto most = LiteralOfDecimal(arrow::Decimal128(high), scale, dtype);
  if (!least || !most) return std::nullopt;
  return ValueRange{*least, *most};
}

}  // namespace

bool CountsNull(const parquet::ColumnChunkMetaData& chunk) {
  if (!chunk.is_stats_set()) return false;
  const std::shared_ptr<parquet::Statistics> known = chunk.statistics();
  return known != nullptr && known->HasNullCount() && known->null_count() > 0;
}

ColumnStatistics StatisticsOfChunk(const parquet::ColumnChunkMetaData& chunk,
                                   const parquet::ColumnDescriptor& column,
                                   const arrow::DataType& type,
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
  // INT96 has times that int64 does not hold.
  const bool holds_all =
      IsFloat(field.dtype) || column.physical_type() != parquet::Type::INT96;
  out.faultless = (no_nulls || takes_null) && holds_all;
  if (known == nullptr || !known->HasMinMax() || !scalar) return out;
  out.range = RangeOfIntegerDecimals(*known, column, field.dtype);
  if (out.range) return out;
  std::shared_ptr<arrow::Scalar> low;
  std::shared_ptr<arrow::Scalar> high;
  if (!parquet::arrow::StatisticsAsScalars(*known, &low, &high).ok()) {
    return out;
  }
  const auto least = LiteralOf(*low, type, field.dtype);
  const auto largest = LiteralOf(*high, type, field.dtype);
  if (!least || !largest) return out;
  out.range = ValueRange{*least, *largest};
  if (field.dtype == DType::kBytes && !no_nulls) {
    out.range->low = Expr::Literal{std::string()};
  }
  return out;
}

namespace {

using arrow::ArrayData;
using arrow::Type;

// Returns the exact time. `nanos` is the same modulo 2^64.
absl::int128 Exact(int64_t nanos, int64_t seconds) {
  constexpr uint64_t kNanosPerSecond = 1'000'000'000;
  const uint64_t below = static_cast<uint64_t>(nanos) -
                         static_cast<uint64_t>(seconds) * kNanosPerSecond;
  return absl::int128(seconds) * kNanosPerSecond + below;
}

// Returns a nested type with other children.
arrow::Result<std::shared_ptr<arrow::DataType>> TypeWith(
    const arrow::DataType& type,
    const std::vector<std::shared_ptr<ArrayData>>& children) {
  arrow::FieldVector fields;
  for (size_t k = 0; k < children.size(); ++k) {
    fields.push_back(
        type.field(static_cast<int>(k))->WithType(children[k]->type));
  }
  switch (type.id()) {
    case Type::STRUCT:
      return arrow::struct_(fields);
    case Type::LIST:
      return arrow::list(fields[0]);
    case Type::LARGE_LIST:
      return arrow::large_list(fields[0]);
    case Type::FIXED_SIZE_LIST:
      return arrow::fixed_size_list(
          fields[0],
          static_cast<const arrow::FixedSizeListType&>(type).list_size());
    case Type::MAP:
      return std::make_shared<arrow::MapType>(fields[0]);
    default:
      return arrow::Status::NotImplemented("times of INT96 in ",
                                           type.ToString());
  }
}

// Returns the times as decimals; null if none has wrapped.
arrow::Result<std::shared_ptr<ArrayData>> ExactTimes(const ArrayData& nanos,
                                                     const ArrayData& seconds) {
  const auto* const low = nanos.GetValues<int64_t>(1);
  const auto* const high = seconds.GetValues<int64_t>(1);
  const auto exact = [&](int64_t k) {
    return nanos.IsValid(k) ? Exact(low[k], high[k]) : absl::int128(low[k]);
  };
  bool wrapped = false;
  for (int64_t k = 0; k < nanos.length; ++k) {
    wrapped = wrapped || exact(k) != low[k];
  }
  if (!wrapped) return nullptr;
  constexpr int64_t kBytes = 16;
  ARROW_ASSIGN_OR_RAISE(
      std::shared_ptr<arrow::Buffer> values,
      arrow::AllocateBuffer((nanos.offset + nanos.length) * kBytes,
                            BoundedPool()));
  uint8_t* to = values->mutable_data() + nanos.offset * kBytes;
  for (int64_t k = 0; k < nanos.length; ++k, to += kBytes) {
    const absl::int128 time = exact(k);
    arrow::Decimal128(absl::Int128High64(time), absl::Int128Low64(time))
        .ToBytes(to);
  }
  return ArrayData::Make(arrow::decimal128(38, 0), nanos.length,
                         {nanos.buffers[0], std::move(values)},
                         nanos.null_count.load(), nanos.offset);
}

// Returns `nanos` with exact times; null if none in it has wrapped.
arrow::Result<std::shared_ptr<ArrayData>> Join(const ArrayData& nanos,
                                               const ArrayData& seconds) {
  // Only times of INT96 have the unit in which they are read.
  if (nanos.type->Equals(*seconds.type)) return nullptr;
  if (nanos.length != seconds.length ||
      nanos.child_data.size() != seconds.child_data.size()) {
    return arrow::Status::Invalid("its times of INT96 changed");
  }
  if (nanos.type->id() == Type::TIMESTAMP) return ExactTimes(nanos, seconds);
  std::shared_ptr<ArrayData> out;
  for (size_t k = 0; k < nanos.child_data.size(); ++k) {
    ARROW_ASSIGN_OR_RAISE(auto child,
                          Join(*nanos.child_data[k], *seconds.child_data[k]));
    if (child == nullptr) continue;
    if (out == nullptr) out = nanos.Copy();
    out->child_data[k] = std::move(child);
  }
  if (out == nullptr) return nullptr;
  ARROW_ASSIGN_OR_RAISE(out->type, TypeWith(*nanos.type, out->child_data));
  return out;
}

}  // namespace

arrow::Result<std::shared_ptr<arrow::Array>> ExactInt96(
    const std::shared_ptr<arrow::Array>& nanos,
    const std::shared_ptr<arrow::Array>& seconds) {
  ARROW_ASSIGN_OR_RAISE(auto joined, Join(*nanos->data(), *seconds->data()));
  return joined == nullptr ? nanos : arrow::MakeArray(std::move(joined));
}

}  // namespace feedmill
