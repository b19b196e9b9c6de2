#ifndef FEEDMILL_CORE_FORMATS_MDS_INDEX_H_
#define FEEDMILL_CORE_FORMATS_MDS_INDEX_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/io/file_system.h"

namespace feedmill {

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

#endif  // FEEDMILL_CORE_FORMATS_MDS_INDEX_H_
