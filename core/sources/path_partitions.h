#ifndef FEEDMILL_CORE_SOURCES_PATH_PARTITIONS_H_
#define FEEDMILL_CORE_SOURCES_PATH_PARTITIONS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/dataset/fields.h"
#include "core/sources/columnar_file.h"

namespace feedmill {

// A folder named KEY=VALUE in a path, as in partitions of Hive and Spark. %XX
// stands for a byte.
struct PathPartition {
  std::string key;
  std::optional<std::string> value;  // absent: __HIVE_DEFAULT_PARTITION__
};

// Returns the partitions of a file's path, outermost first. Of equal keys, only
// the last is returned.
std::vector<PathPartition> PartitionsOf(std::string_view path);

// Returns the component of a partition that is not declared: int64 if its value
// is an integer, else bytes.
SourceField FieldOf(const PathPartition& partition);

// Returns a column of `rows` rows with the partition's value, as `field`.
// DataLoss if the dtype cannot hold it.
absl::StatusOr<DecodedColumn> ColumnOf(const PathPartition& partition,
                                       const SourceField& field, size_t rows);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_PATH_PARTITIONS_H_
