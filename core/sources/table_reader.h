#ifndef FEEDMILL_CORE_SOURCES_TABLE_READER_H_
#define FEEDMILL_CORE_SOURCES_TABLE_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/chunk/chunk_builder.h"
#include "core/dataset/source.h"
#include "core/io/manifest.h"
#include "core/sources/record_source.h"
#include "feedmill/element.h"

namespace feedmill {

// Reads all rows of a source into memory. Not thread-safe.
class TableReader {
 public:
  // `spec`: of the components that are read.
  TableReader(const Source& source, ElementSpec spec);

  // Reads the components in `live`; all if it is empty. `manifest`: of the
  // source alone, as ResolveManifest makes it. ResourceExhausted if their
  // values have more than `bytes_max`. Errors of records are errors, see
  // RecordSource.
  absl::StatusOr<Chunk> Read(std::shared_ptr<const Manifest> manifest,
                             const std::vector<bool>& live, size_t bytes_max);

  // Returns the name of a row that was read: "labels.csv: line 7".
  std::string NameOf(size_t row) const;

 private:
  // The first row of a read, and its place in the source.
  struct ReadRows {
    size_t first = 0;
    uint64_t index = 0;
    uint64_t row = 0;
  };

  absl::Status ReadRecords(uint64_t size, ChunkBuilder& rows);
  absl::Status ReadBlocks(uint64_t size, ChunkBuilder& rows);
  absl::Status Add(uint64_t index, uint64_t row, ChunkBuilder& rows);

  const Source source_;
  const bool counted_;
  const std::shared_ptr<const ElementSpec> spec_;
  size_t bytes_max_ = 0;
  std::unique_ptr<const RecordSource> records_;
  std::unique_ptr<RecordSource::Scratch> scratch_;
  RecordBlock block_;
  std::vector<ReadRows> reads_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_TABLE_READER_H_
