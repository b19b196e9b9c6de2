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

// Reads LMDB's data file (data.mdb), format 1, as little-endian 64-bit machines
// write it. The library liblmdb is not used for two reasons. It maps a file and
// trusts its bytes, so that a damaged file ends the process, and it reads local
// files only. This reader checks each page, node and offset.

// Returns the components of an entry: `key` and `value`.
const std::vector<SourceField>& LmdbFields();

// Returns the number of entries of the main database that the file states.
// DataLoss if the file is no LMDB file, is truncated, or has entries with
// several values.
absl::StatusOr<uint64_t> CountLmdbEntries(const RandomAccessFile& file,
                                          uint64_t size);

// Finds all entries of the main database, in the order of their keys. Reads all
// pages except the pages of large values. `fields`: some of LmdbFields.
absl::StatusOr<std::unique_ptr<const ItemFile>> OpenLmdbFile(
    const RandomAccessFile& file, uint64_t size,
    const std::vector<SourceField>& fields);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_FORMATS_LMDB_FILE_H_
