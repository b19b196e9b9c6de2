#ifndef FEEDMILL_CORE_FORMATS_ARRAY_RECORD_INDEX_H_
#define FEEDMILL_CORE_FORMATS_ARRAY_RECORD_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "core/io/manifest.h"
#include "core/io/random_access_file.h"
#include "core/sources/record_source.h"

namespace feedmill {

// The chunks of an ArrayRecord file and their records, from its footer.
// Immutable; any thread.
//
// An ArrayRecord file is a Riegeli/records file with two more chunks. The
// postscript, in the last 64 KiB, has the offset of the footer. The footer has
// the offset and the number of records of each chunk.
class ArrayRecordIndex {
 public:
  // `offsets`: of each chunk, and the end of the last. `starts`: the first
  // record of each chunk, and the number of records.
  // REQUIRES: both increase, and have the same size.
  ArrayRecordIndex(std::vector<uint64_t> offsets, std::vector<uint64_t> starts);

  uint64_t records() const { return records_; }
  size_t chunks() const { return offsets_.size() - 1; }
  // Bytes of memory that this takes, about.
  size_t bytes() const {
    return (offsets_.size() + starts_.size()) * sizeof(uint64_t);
  }

  // REQUIRES: record < records().
  size_t ChunkOf(uint64_t record) const;
  uint64_t FirstRecordOf(size_t chunk) const;
  uint64_t RecordsOf(size_t chunk) const {
    return FirstRecordOf(chunk + 1) - FirstRecordOf(chunk);
  }
  // The bytes of a chunk in the file, with padding.
  ByteRange RangeOf(size_t chunk) const {
    return {offsets_[chunk], offsets_[chunk + 1] - offsets_[chunk]};
  }

 private:
  std::vector<uint64_t> offsets_;
  uint64_t records_;
  // Records of each chunk but the last, if all have as many; else 0.
  uint64_t group_ = 0;
  std::vector<uint64_t> starts_;  // empty if group_ > 0
};

// Reads the index of a file of `size` bytes. Errors name the file: DataLoss if
// its bytes are wrong, FailedPrecondition if it has fewer bytes now.
absl::StatusOr<ArrayRecordIndex> ReadArrayRecordIndex(
    const RandomAccessFile& file, uint64_t size);

// The records of ArrayRecord files, counted, as one component of bytes. Only
// the chunks of the records that are read are read and decoded. Decoded chunks
// of several records are kept, those used last, up to 256 MiB of them.
std::unique_ptr<const RecordSource> MakeArrayRecordSource(
    std::shared_ptr<const Manifest> manifest);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_FORMATS_ARRAY_RECORD_INDEX_H_
