#ifndef FEEDMILL_CORE_FORMATS_LMDB_FILE_H_
#define FEEDMILL_CORE_FORMATS_LMDB_FILE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "core/dataset/fields.h"
#include "core/io/random_access_file.h"
#include "core/sources/item_records.h"

namespace feedmill {

// LMDB's data file (data.mdb), format 1, as little-endian 64-bit machines write
// it. The library liblmdb is not used: it maps a file and trusts its bytes, so
// that a damaged file ends the process, and it reads local files only. Here
// each page, node and place is checked.

// The components of an entry: `key` and `value`.
const std::vector<SourceField>& LmdbFields();

// Number of entries of the main database, as the file says it. DataLoss if it
// is no such file, does not end where it should, or has entries with several
// values.
absl::StatusOr<uint64_t> CountLmdbEntries(const RandomAccessFile& file,
                                          uint64_t size);

// Finds all entries of the main database, in the order of their keys: reads all
// pages but those of large values. `fields`: some of LmdbFields.
absl::StatusOr<std::unique_ptr<const ItemFile>> OpenLmdbFile(
    const RandomAccessFile& file, uint64_t size,
    const std::vector<SourceField>& fields);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_FORMATS_LMDB_FILE_H_
