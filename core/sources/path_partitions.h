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

// A folder of a path that is called KEY=VALUE, as Hive and Spark call those of
// partitions. %XX stands for a byte.
struct PathPartition {
  std::string key;
  std::optional<std::string> value;  // none: __HIVE_DEFAULT_PARTITION__
};

// The partitions of a file's path, the outermost first. The last of equal keys
// counts; the others are left out.
std::vector<PathPartition> PartitionsOf(std::string_view path);

// The component that a partition becomes if none is declared: int64 if its
// value is an integer, else bytes.
SourceField FieldOf(const PathPartition& partition);

// The column of `rows` rows of that value, as `field`. DataLoss if the dtype
// does not hold it.
absl::StatusOr<DecodedColumn> ColumnOf(const PathPartition& partition,
                                       const SourceField& field, size_t rows);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_PATH_PARTITIONS_H_
