#ifndef FEEDMILL_CORE_DATASET_LOOKUP_STEP_H_
#define FEEDMILL_CORE_DATASET_LOOKUP_STEP_H_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/dataset/graph.h"
#include "feedmill/dataset_options.h"
#include "feedmill/element.h"

namespace feedmill {

// Adds the columns of the row of a table whose key is the element's.
struct LookupStep : LookupOptions {
  std::vector<Graph> table{};  // one, a source without steps
};

// Returns the table of a lookup; null for another step.
const Graph* TableOf(const Step& step);
// The same of an image_table.
const Graph* TableOf(const Source& source);

// Calls change(table), which returns a status, for the table of the source and
// of each lookup of `graph`, without its inputs.
absl::Status ChangeTables(
    const std::function<absl::Status(Graph& table)>& change, Graph& graph);

// Returns the name of a table in messages: "labels.parquet".
std::string TableText(const std::vector<Graph>& table);
// Returns the components of a table's rows. InvalidArgument if it is no source
// without steps, of files or arrays.
absl::StatusOr<ElementSpec> TableSpec(const std::vector<Graph>& table);

// The columns that a lookup reads, in the order of the table.
struct LookupColumns {
  std::vector<bool> live;  // by column of the table: it is read
  ElementSpec spec;        // of the columns that are read
  size_t key = 0;          // in `spec`
  // Columns of `spec` that become components: all but the key.
  std::vector<size_t> taken;
};
// InvalidArgument if the table is no source without steps, or has no such
// columns.
absl::StatusOr<LookupColumns> ColumnsOf(const LookupStep& step);

// Returns the text that identifies the rows that a lookup finds and the
// columns that it reads, apart from the files' content.
std::string LookupName(const LookupStep& step);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_LOOKUP_STEP_H_
