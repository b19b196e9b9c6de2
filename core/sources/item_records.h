#ifndef FEEDMILL_CORE_SOURCES_ITEM_RECORDS_H_
#define FEEDMILL_CORE_SOURCES_ITEM_RECORDS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/dataset/fields.h"
#include "core/io/byte_stream.h"
#include "core/io/manifest.h"
#include "core/io/random_access_file.h"
#include "core/sources/record_source.h"

namespace feedmill {

// Places of the records of a file that contains an index of them: a shard of
// MDS, a database of LMDB. Immutable; any thread.
class ItemFile {
 public:
  virtual ~ItemFile() = default;

  virtual uint64_t records() const = 0;
  // Bytes of memory that this takes, about.
  virtual size_t bytes() const = 0;
  // Part of the file that Append reads first; empty if it reads none.
  virtual ByteRange RangeOf(uint64_t record) const = 0;
  // Appends the record as a row to the columns, which belong to the fields
  // that the file was opened for. DataLoss says what is wrong with the record;
  // columns may then hold more than whole rows. `scratch` is only memory.
  virtual absl::Status Append(uint64_t record, const ReadFileAt& read,
                              std::vector<std::byte>& scratch,
                              std::vector<EncodedColumn>& columns) const = 0;
};

// Opens a file of `size` bytes for these fields. Errors do not name the file.
// DataLoss if its bytes are wrong.
using OpenItemFile =
    std::function<absl::StatusOr<std::unique_ptr<const ItemFile>>(
        const RandomAccessFile& file, uint64_t size,
        const std::vector<SourceField>& fields)>;

// Counted records of such files. Keeps what the files say, up to 256 MiB of it,
// those used last; one that takes more is kept alone. A file that cannot be
// opened for its bytes is a data error of each of its records. `live`: as
// RecordSource::Make.
std::unique_ptr<const RecordSource> MakeItemRecords(
    OpenItemFile open, const std::vector<SourceField>& fields,
    const std::vector<bool>& live, std::shared_ptr<const Manifest> manifest);

// Reads [offset, offset + size) of a file. DataLoss if it ends before.
absl::StatusOr<std::string> ReadWhole(const RandomAccessFile& file,
                                      uint64_t offset, uint64_t size);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_ITEM_RECORDS_H_
