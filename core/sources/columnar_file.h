#ifndef FEEDMILL_CORE_SOURCES_COLUMNAR_FILE_H_
#define FEEDMILL_CORE_SOURCES_COLUMNAR_FILE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/dataset/fields.h"
#include "core/io/guarded_mapping.h"
#include "core/io/random_access_file.h"
#include "core/sources/value_range.h"
#include "feedmill/element.h"

namespace feedmill {

enum class ColumnarFormat {
  kParquet,
  kArrowIpc,  // files (Feather) and streams
};

// The way in which a source reads its files.
struct ColumnarReading {
  ColumnarFormat format = ColumnarFormat::kParquet;
  bool partitions =
      false;  // a field that a file lacks is looked up in its path
  bool memory_map = false;  // see ArrowSource
};

// The meaning of a number that stands for a time.
struct TimeType {
  enum class Kind : uint8_t { kInstant, kTimeOfDay, kDuration };
  Kind kind = Kind::kInstant;
  int64_t nanos = 1;  // nanoseconds of its unit

  friend bool operator==(const TimeType&, const TimeType&) = default;
};

// Returns what integers of that meaning stand for in Python.
inline LogicalType LogicalOfTime(const TimeType& time) {
  if (time.kind != TimeType::Kind::kInstant) return LogicalType::kNone;
  switch (time.nanos) {
    case 1:
      return LogicalType::kTimestampNs;
    case 1'000:
      return LogicalType::kTimestampUs;
    case 1'000'000:
      return LogicalType::kTimestampMs;
    case 1'000'000'000:
      return LogicalType::kTimestampS;
    default:
      return LogicalType::kDate;
  }
}

// One column of a file, as a component. Structs are flattened: the member "b"
// of the struct "a" is the column "a.b".
struct ColumnarColumn {
  SourceField field;
  // Empty, or the type in the file if no component can hold it: "map<string,
  // int64>". Then only the name of `field` is valid.
  std::string unreadable{};
  // Times among the values, in the order of the nested types. Of a column that
  // is no JSON text, at most one.
  std::vector<TimeType> times{};
  // For ReadGroup: a null is RowFault::kNull with the value 0 or "" in all
  // dtypes.
  bool nullable = false;
};

// Reason why a row has no value in a column.
enum class RowFault : uint8_t {
  kNone,
  kNull,     // null, and the dtype has no value for it
  kInexact,  // not exactly a number of the declared dtype
  kTime,     // a time that the dtype does not hold in the unit of the component
  kIndex,    // an index outside the dictionary
};

// All rows of a group in one column.
//
//   scalars, fixed shapes  `values`, and for bytes `offsets`, as in Column;
//   lists                  also `row_starts`; `row_shapes` stays empty.
struct DecodedColumn {
  Column column;
  std::vector<RowFault> faults{};  // by row; empty: none
  bool mapped = false;             // `values` are bytes of the file's mapping
};

// Statistics of a column's values in a group, from the file's metadata.
struct ColumnStatistics {
  std::optional<ValueRange> range{};  // of a scalar column; nullopt: unknown
  // True if no row has a RowFault in this column.
  bool faultless = false;
};

// An open file that stores rows in groups of columns: the row groups of
// Parquet, the record batches of Arrow. libfeedmill_arrow.so implements it.
//
// DataLoss if the bytes are wrong; errors name the column but not the file.
// Errors of the RandomAccessFile are returned unchanged.
//
// Thread-safety: any thread.
class ColumnarFile {
 public:
  virtual ~ColumnarFile() = default;

  virtual const std::vector<ColumnarColumn>& columns() const = 0;
  // Number of rows of each group.
  virtual const std::vector<uint64_t>& group_rows() const = 0;
  // Decodes the columns `wanted` (names, dtypes and shapes), in their order,
  // and reads only these columns. Rows from number `rows` on may be left out,
  // and then are not read. If a column has `times`, the values are
  // converted to their units. InvalidArgument if the file lacks a column, or if
  // its type does not convert to the dtype without loss. REQUIRES: `times` is
  // empty, or has the kinds of the times of the file's column.
  virtual absl::StatusOr<std::vector<DecodedColumn>> ReadGroup(
      size_t group, std::span<const ColumnarColumn> wanted,
      uint64_t rows) const = 0;
  // Returns the statistics of the columns `wanted`, without reading them.
  virtual std::vector<ColumnStatistics> StatisticsOf(
      size_t, std::span<const ColumnarColumn> wanted) const {
    return std::vector<ColumnStatistics>(wanted.size());
  }
  // Returns for each column whether the metadata of the file counts a null in
  // it. False if it does not count them.
  virtual std::vector<bool> HaveNulls(
      std::span<const ColumnarColumn> wanted) const {
    return std::vector<bool>(wanted.size());
  }
  // The mapping that mapped columns view; they keep it alive. Null if the file
  // is not mapped.
  virtual const GuardedMapping* mapping() const { return nullptr; }
};

// Opens columnar files. Thread-safety: any thread.
class ColumnarReader {
 public:
  virtual ~ColumnarReader() = default;

  // Reads the footer, or the metadata of a stream. `size`: bytes of the file.
  // `memory_map`: decoded columns may be views of the mapped file.
  virtual absl::StatusOr<std::unique_ptr<const ColumnarFile>> Open(
      ColumnarFormat format, std::shared_ptr<const RandomAccessFile> file,
      uint64_t size, bool memory_map) const = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_COLUMNAR_FILE_H_
