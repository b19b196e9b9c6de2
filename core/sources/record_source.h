#ifndef FEEDMILL_CORE_SOURCES_RECORD_SOURCE_H_
#define FEEDMILL_CORE_SOURCES_RECORD_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/chunk/progression.h"
#include "core/dataset/function_registry.h"
#include "core/dataset/graph.h"
#include "core/io/manifest.h"
#include "feedmill/chunk.h"

namespace feedmill {

// Records of a source, columnar; keeps its memory from one read to the next.
struct RecordBlock {
  size_t rows = 0;
  std::vector<OutputColumn> columns;  // one per component that is made
  // Not OK: the record after the last row is bad, a function of the bytes.
  absl::Status error;
  // … and so where those after it in the block begin is not known.
  bool ends_block = false;
  // Set by who reads: ReadRun may leave what stands around records where it is,
  // if that is as long for each. Then `trailing` bytes of each row are none of
  // the record's.
  bool takes_trailing = false;
  size_t trailing = 0;
  // Set by who reads: ReadRun may say what the items of its only column are
  // instead of writing them, which `progression` then tells.
  bool takes_progression = false;
  std::optional<Progression> progression;
};

// The records of a source by index, or its blocks where they are not counted.
// Files are those of the manifest: one that is gone, or whose size or mtime
// differs, is FailedPrecondition ("changed since the job began"). A returned
// Status is for this machine only; bad data is RecordBlock::error.
//
// Thread-safety: any thread, each with its own Scratch and RecordBlock.
class RecordSource {
 public:
  class Scratch {
   public:
    virtual ~Scratch() = default;
  };

  // With `counted` false, indexes are blocks of files, or whole ones
  // (SourcePositions). `live`: which of its components are made; empty: all.
  // What only the others need is neither decoded nor looked at: of images,
  // the files.
  static absl::StatusOr<std::unique_ptr<const RecordSource>> Make(
      const Source& source, bool counted,
      std::shared_ptr<const Manifest> manifest,
      const std::vector<bool>& live = {});
  virtual ~RecordSource() = default;

  virtual std::unique_ptr<Scratch> NewScratch() const = 0;

  // A counted source: reads the first of the records `indexes`, in their order:
  // as many as fit into about `bytes_max` (at least one), a row each. Returns
  // how many were read; where out.error is set, the bad one is not among them.
  // REQUIRES: indexes is not empty, all are below the source's size.
  virtual absl::StatusOr<size_t> Read(std::span<const uint64_t> indexes,
                                      size_t bytes_max, Scratch& scratch,
                                      RecordBlock& out) const;

  // The same of `count` records from `first` on. REQUIRES: count > 0.
  virtual absl::StatusOr<size_t> ReadRun(uint64_t first, uint64_t count,
                                         size_t bytes_max, Scratch& scratch,
                                         RecordBlock& out) const;

  // An uncounted one: reads rows of block `index` from `row` on, about
  // `bytes_max` bytes of them. False: the block ends after them, or at
  // out.error. Reading on where the last call ended is quick, from any thread;
  // elsewhere the block is read again from its beginning.
  virtual absl::StatusOr<bool> ReadBlock(uint64_t index, uint64_t row,
                                         size_t bytes_max,
                                         RecordBlock& out) const;

  // "photos.tfrecord: record 17 at offset 2048", for errors about the data of
  // a record; row counts those of a block, else it is 0.
  virtual std::string Describe(uint64_t index, uint64_t row) const = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_RECORD_SOURCE_H_
