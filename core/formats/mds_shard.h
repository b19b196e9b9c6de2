#ifndef FEEDMILL_CORE_FORMATS_MDS_SHARD_H_
#define FEEDMILL_CORE_FORMATS_MDS_SHARD_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/dataset/fields.h"
#include "core/io/file_system.h"
#include "core/io/random_access_file.h"
#include "core/sources/item_records.h"
#include "core/sources/record_source.h"

namespace feedmill {

// A column of an MDS shard: its encoding, such as "ndarray:float32:2,3". `size`
// is the bytes of each value, if that is the same in all samples.
struct MdsColumn {
  std::string name;
  std::string encoding;
  std::optional<uint64_t> size;
};

// The head of a shard: the offsets of its samples, and its columns.
struct MdsHead {
  std::vector<uint32_t> offsets;  // samples + 1
  std::vector<MdsColumn> columns;
};

// Parses the head of a shard of `size` bytes from its first bytes. DataLoss
// gives the fault, or how many bytes are needed.
absl::StatusOr<MdsHead> ParseMdsHead(std::string_view bytes, uint64_t size);

// Splits a sample into its values, one for each column.
absl::StatusOr<std::vector<std::string_view>> MdsValues(
    const std::vector<MdsColumn>& columns, std::string_view sample);

// Returns the component for a column. `value` is one of its values, which gives
// what the encoding does not state. InvalidArgument if the column cannot be a
// component.
absl::StatusOr<SourceField> MdsField(const MdsColumn& column,
                                     std::string_view value);

// Appends a value of a column as a row of the component `field`. DataLoss if
// the value is damaged, or does not fit the component.
absl::Status AppendMdsValue(const MdsColumn& column, std::string_view value,
                            const SourceField& field, OutputColumn& out);

// Returns the number of samples of a shard, which may be compressed.
absl::StatusOr<uint64_t> CountMdsSamples(const RandomAccessFile& file,
                                         uint64_t size);
// Returns the fields for the columns of a shard; none if it has no samples.
absl::StatusOr<std::vector<SourceField>> MdsFields(const RandomAccessFile& file,
                                                   uint64_t size);
// Opens a shard. A compressed shard is decompressed into memory.
absl::StatusOr<std::unique_ptr<const ItemFile>> OpenMdsShard(
    const RandomAccessFile& file, uint64_t size,
    const std::vector<SourceField>& fields);

// True if an index of MDS shards has this name.
bool IsMdsIndex(std::string_view name);

// Returns the MDS shards among the files of a pattern, in the order of `found`.
//
// - An index.json stands for the shards that it lists, in its order. Other
//   files in its folder, and in folders below, are left out: a merged index
//   lists the shards of these folders.
// - Elsewhere, the files named *.mds are shards, and *.mds.zstd and the like.
// - A shard that exists both plain and compressed is returned once, plain.
//
// NotFound if there is none. DataLoss if a shard of an index does not exist.
// InvalidArgument if an index.json is no index of MDS shards.
absl::StatusOr<std::vector<FoundFile>> FindMdsShards(
    const std::string& pattern, std::vector<FoundFile> found);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_FORMATS_MDS_SHARD_H_
