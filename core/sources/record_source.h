#ifndef FEEDMILL_CORE_SOURCES_RECORD_SOURCE_H_
#define FEEDMILL_CORE_SOURCES_RECORD_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/chunk/encoding.h"
#include "core/chunk/generator_state.h"
#include "core/dataset/graph.h"
#include "core/io/manifest.h"
#include "core/sources/encoded_column.h"
#include "core/sources/row_filter.h"
#include "feedmill/element.h"

namespace feedmill {

// The row after the last row of a block, if it is bad.
struct BadRow {
  // Not OK if the row is bad, for a reason that depends on the data only.
  absl::Status error;
  // True if this error hides where the block's next records begin.
  bool ends_block = false;

  // ---- of steps
  // Number of steps before the failed step; 0 for the source.
  size_t failed_after = 0;
  // True if an on_error of an input has skipped the element already.
  bool left_out = false;
  // Records of the element, if only the input knows them.
  std::vector<RecordOrigin> failed_records{};

  void SetBad(BadRow bad) { *this = std::move(bad); }
};

// Records of a source, columnar. Keeps its memory from one read to the next.
struct RecordBlock : BadRow {
  size_t rows = 0;
  std::vector<EncodedColumn> columns;  // one per needed component
  // Set with columns of mapped files. Fails if items that were read until now
  // may differ from the files' items.
  std::function<absl::Status()> check_mapped;

  // Empties the block for rows of these components.
  void Reset(std::span<const SourceField> fields);
  void ResetScalars(std::span<const DType> dtypes);
  // Makes the columns these, which others own in memory.
  void Show(std::vector<Column> shared);
  // Keeps the first `count` rows, and no part of another row.
  void Truncate(size_t count);

  // ---- for the caller
  // Sets the source of the columns' memory (null: malloc), and frees the memory
  // of the last read if the source is another one.
  void UseMemory(std::shared_ptr<BlockSource> blocks);
  const std::shared_ptr<BlockSource>& blocks() const { return blocks_; }
  // Frees all memory, and removes the rows.
  void Clear();
  // True if the columns are in a mapped file.
  bool mapped() const;
  // Keeps the first rows, about `bytes_max` bytes of them, at least one.
  // REQUIRES: mapped(), rows > 0.
  void Cut(size_t bytes_max);
  // Makes each column plain whose encoding is not in its set in `taken` (empty:
  // all must be plain) and, unless `takes_mapped`, all columns of mapped files.
  // Fails as check_mapped does.
  absl::Status MakePlain(std::span<const Encoding::Kinds> taken,
                         bool takes_mapped);
  // Returns the columns with their memory. REQUIRES: all can be taken.
  std::vector<Column> Take();

 private:
  void Begin(size_t count);
  void Reserve();

  std::shared_ptr<BlockSource> blocks_;
  // Bytes of values and of offsets of the columns that were taken last.
  std::vector<std::pair<size_t, size_t>> taken_bytes_;
};

// Reads the records of a source by index, or its blocks if records are not
// counted. The manifest lists the files. If a file is gone, or its size
// or mtime differs, the error is FailedPrecondition ("changed since the job
// began"). A returned error Status concerns this machine only; bad data is
// BadRow::error.
//
// Thread-safety: any thread, each with its own Scratch and RecordBlock.
class RecordSource {
 public:
  class Scratch {
   public:
    virtual ~Scratch() = default;
  };

  // If `counted` is false, indexes are blocks of files or whole files
  // (SourcePositions). `live`: components to make; empty: all. Data that only
  // other components need is neither decoded nor read, e.g. the files of
  // images. `filter`: in place of rows that fail it, a source may give others
  // that fail it, and then need not read a row group. Rows from its end on are
  // not asked for.
  static absl::StatusOr<std::unique_ptr<const RecordSource>> Make(
      const Source& source, bool counted,
      std::shared_ptr<const Manifest> manifest,
      const std::vector<bool>& live = {}, const RowFilter& filter = {});
  virtual ~RecordSource() = default;

  virtual std::unique_ptr<Scratch> NewScratch() const = 0;

  // For a counted source: reads the first of the records `indexes`, in their
  // order, one row each. Reads as many as fit into about `bytes_max`, at least
  // one, and returns their number. If out.error is set, the bad record is not
  // counted.
  // REQUIRES: indexes is not empty, and all are below the source's size.
  virtual absl::StatusOr<size_t> Read(std::span<const uint64_t> indexes,
                                      size_t bytes_max, Scratch& scratch,
                                      RecordBlock& out) const;

  // Same for `count` records from `first` on; `bytes_max` does not bound rows
  // in mapped files. REQUIRES: count > 0.
  virtual absl::StatusOr<size_t> ReadRun(uint64_t first, uint64_t count,
                                         size_t bytes_max, Scratch& scratch,
                                         RecordBlock& out) const;

  // For an uncounted source: reads rows of block `index` from `row` on, about
  // `bytes_max` bytes. Returns false if the block ends after them, or at
  // out.error. Continuing where the last call ended is fast, from any thread.
  // Other rows are found by reading the block again from its beginning.
  virtual absl::StatusOr<bool> ReadBlock(uint64_t index, uint64_t row,
                                         size_t bytes_max,
                                         RecordBlock& out) const;

  // For a generator: see PythonGenerator::StateBefore and Restore.
  virtual std::optional<RowState> StateBefore(uint64_t, uint64_t) const {
    return std::nullopt;
  }
  virtual void Restore(uint64_t, RowState) const {}

  // Number of records (of blocks, if it is uncounted) to announce ahead of
  // those that are read; 0 if it saves no time.
  virtual size_t records_ahead() const { return 0; }
  // Begins to fetch records (or blocks) that are read soon, in this order, and
  // returns without waiting for them.
  virtual void PrefetchRecords(std::span<const uint64_t>) const {}

  // Returns "photos.tfrecord: record 17 at offset 2048", for errors about the
  // data of a record. `row` is its row in a block, else 0.
  virtual std::string Describe(uint64_t index, uint64_t row) const = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_RECORD_SOURCE_H_
