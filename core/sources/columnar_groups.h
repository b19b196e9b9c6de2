#ifndef FEEDMILL_CORE_SOURCES_COLUMNAR_GROUPS_H_
#define FEEDMILL_CORE_SOURCES_COLUMNAR_GROUPS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/dataset/fields.h"
#include "core/io/guarded_mapping.h"
#include "core/io/manifest_files.h"
#include "core/sources/columnar_file.h"
#include "core/sources/path_partitions.h"
#include "core/sources/row_filter.h"
#include "core/sources/value_cache.h"

namespace feedmill {

// The rows of one group, decoded. Immutable except for `taken`.
struct DecodedGroup {
  size_t rows = 0;
  std::vector<DecodedColumn> columns;  // one per field
  size_t size = 0;                     // bytes of memory, approximately
  size_t row_bytes = 0;                // of all rows, mapped or in memory
  // True if the rows are others that fail the filter, as those in the file do.
  bool replaced = false;
  // Set if columns are mapped: see ColumnarFile::mapping.
  const GuardedMapping* mapping = nullptr;
  // True if rows may be views of these columns, which then stay in memory: the
  // columns are mapped, but for small ones, and have no faults.
  bool views = false;
  mutable std::atomic<size_t> taken = 0;  // rows, counted by CountTaken

  size_t bytes() const { return size; }
  // False if a page of the mapped file could not be read: rows may be zeros.
  bool sound() const { return mapping == nullptr || mapping->Sound(); }
};

// The place of the values of each field: the file, or its path.
struct FieldPlaces {
  // One per field; nullopt: in the file, or a validity (core/chunk/validity.h).
  std::vector<std::optional<PathPartition>> of_path;
  std::vector<ColumnarColumn> of_file;  // the other fields, but for validities
};

// The times of a field, as in the first file that has it.
struct FieldTimes {
  size_t file = 0;
  std::vector<TimeType> times;
};

// A cache of decoded row groups of the files of a manifest. It keeps the groups
// used last, kBytesMax bytes of them; a larger group is kept alone.
// If more than kTakenBytesMax are kept, a group is dropped as soon as all its
// rows were taken. So a pass in order needs little memory. Threads that need
// the same group wait for the thread that decodes it.
//
// Thread-safety: any thread.
class ColumnarGroups {
 public:
  static constexpr size_t kBytesMax = size_t{256} << 20;
  static constexpr size_t kTakenBytesMax = size_t{32} << 20;

  // `files` must outlive this object. A group of which no row can pass `filter`
  // is not read: Get returns other rows that fail it. Of a group with the
  // filter's end in its first half, Get returns the rows before the end.
  ColumnarGroups(const ColumnarReader& reader, const ColumnarReading& reading,
                 std::vector<SourceField> fields, const ManifestFiles& files,
                 RowFilter filter)
      : reader_(reader),
        reading_(reading),
        fields_(std::move(fields)),
        files_(files),
        filter_(std::move(filter)) {}

  const std::vector<SourceField>& fields() const { return fields_; }
  // True if groups may be mapped. Their values are read when rows are taken, so
  // the caller checks afterwards with CheckTaken.
  bool maps() const { return reading_.memory_map; }

  // The first row of each group of a file, followed by the number of rows.
  using Starts = std::shared_ptr<const std::vector<uint64_t>>;
  absl::StatusOr<Starts> StartsOf(size_t file) const;

  // Returns a decoded group. DataLoss if its bytes are wrong; other errors
  // concern this machine only.
  absl::StatusOr<std::shared_ptr<const DecodedGroup>> Get(size_t file,
                                                          size_t group) const;
  // Fails if rows just taken from a group of the file may differ from the
  // file's: it has changed, or a page of its mapping could not be read.
  absl::Status CheckTaken(size_t file, const DecodedGroup& group) const;
  // Returns the unit of a field's times and its origin, for errors:
  // "milliseconds, as in FILE". REQUIRES: a row had RowFault::kTime.
  std::string DescribeUnit(size_t field) const;
  // Counts rows of a group as taken.
  void CountTaken(size_t file, size_t group, size_t rows) const;

 private:
  using Key = std::pair<size_t, size_t>;  // file, group
  using OpenedFile = std::shared_ptr<const ColumnarFile>;

  absl::StatusOr<OpenedFile> Open(size_t file) const;
  absl::StatusOr<std::shared_ptr<const DecodedGroup>> Decode(
      size_t file, size_t group) const;
  FieldPlaces PlacesOf(size_t file, const ColumnarFile& opened) const;
  absl::Status SetTimes(size_t file, const ColumnarFile& opened,
                        FieldPlaces& places) const;
  absl::StatusOr<FieldTimes> TimesOf(const std::string& name,
                                     size_t file) const;
  uint64_t RowsToRead(size_t file, size_t group,
                      const ColumnarFile& opened) const;
  absl::StatusOr<std::vector<DecodedColumn>> ReadColumns(
      const FieldPlaces& places, size_t group, size_t rows,
      const ColumnarFile& opened) const;
  absl::StatusOr<DecodedColumn> PartitionColumn(const PathPartition& partition,
                                                size_t field,
                                                size_t rows) const;
  bool IsValidityField(size_t field) const;
  std::vector<ColumnStatistics> Statistics(const FieldPlaces& places,
                                           size_t group,
                                           const ColumnarFile& opened) const;
  bool Replace(const FieldPlaces& places, const ColumnarFile& opened,
               size_t group, DecodedGroup& out) const;

  const ColumnarReader& reader_;
  const ColumnarReading reading_;
  const std::vector<SourceField> fields_;
  const ManifestFiles& files_;
  const RowFilter filter_;

  const ValueCache<Key, DecodedGroup> groups_{kBytesMax};

  mutable std::mutex mutex_;
  mutable std::map<size_t, Starts> starts_;  // by file
  mutable std::list<std::pair<size_t, OpenedFile>> opened_;
  mutable std::map<std::string, FieldTimes> times_;  // by name of the field
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_COLUMNAR_GROUPS_H_
