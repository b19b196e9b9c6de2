#ifndef FEEDMILL_CORE_FORMATS_MEMORY_TABLE_H_
#define FEEDMILL_CORE_FORMATS_MEMORY_TABLE_H_

#include <cstddef>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/dataset/graph.h"
#include "core/dataset/memory_source.h"
#include "feedmill/element.h"

namespace feedmill {

// Most bytes of the values of a table that is carried to another process.
inline constexpr size_t kCarriedTableBytesMax = size_t{256} << 20;
// Most bytes of all tables of a pipeline, packed, through a service. A
// dispatcher takes pipelines of 16 MiB.
inline constexpr size_t kCarriedBytesMax = size_t{15} << 20;

// Returns the source of the rows of `table`, which views the table's buffers.
// While a copy of the source exists, FindTable finds the table by its hash.
// InvalidArgument if buffers do not fit the table's spec.
absl::StatusOr<MemorySource> SourceOfTable(Chunk table);

// Returns the table of a source: its own one, an equal one of another source in
// this process, or the one in its `data`. FailedPrecondition if there is none.
absl::StatusOr<std::shared_ptr<const Chunk>> FindTable(
    const MemorySource& source);

// Gives all memory sources of `graph` their data, so that other processes can
// read it. FailedPrecondition if the packed data has more than `bytes_max`.
absl::Status CarryTables(Graph& graph, size_t bytes_max);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_FORMATS_MEMORY_TABLE_H_
