#ifndef FEEDMILL_PLUGINS_ARROW_COLUMN_TYPES_H_
#define FEEDMILL_PLUGINS_ARROW_COLUMN_TYPES_H_

#include <arrow/type.h>

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/sources/columnar_file.h"

namespace feedmill {

// A column of a schema whose structs are flattened.
struct FlatColumn {
  ColumnarColumn column;
  std::vector<int> path;  // child indices, from the schema's field on
  // A member of a list of structs: child indices from the list's struct on.
  std::vector<int> in_items;
  // The type of the column. For such a member, a list of its type.
  std::shared_ptr<arrow::DataType> type;
};

// Flattens a schema into components; docs/semantics/sources.md has the table.
std::vector<FlatColumn> FlattenSchema(const arrow::Schema& schema);

// Finds a column by name. InvalidArgument if there is none, or if its type
// cannot become `field`'s.
absl::StatusOr<const FlatColumn*> FindColumn(
    const std::vector<FlatColumn>& columns, const SourceField& field);

// Returns the dtype of a type's values; nullopt for nested types.
std::optional<DType> DTypeOfType(const arrow::DataType& type);
// Returns the kind and unit of times; nullopt for other types.
std::optional<TimeType> TimeOfType(const arrow::DataType& type);
// True if decoding a column reads each of its bytes at most once: numbers, byte
// strings, and lists of numbers. If another process changes such bytes
// meanwhile, the values are others, but no access is outside of a buffer.
bool ViewsAreSafe(const FlatColumn& column);

// True if values of a nested type become JSON text: lists of lists, maps, lists
// of structs that have lists. Lists of numbers and texts are no such type.
bool BecomesJson(const std::shared_ptr<arrow::DataType>& type);

// Returns the storage type of extension types.
std::shared_ptr<arrow::DataType> StorageOf(
    const std::shared_ptr<arrow::DataType>& type);

}  // namespace feedmill

#endif  // FEEDMILL_PLUGINS_ARROW_COLUMN_TYPES_H_
