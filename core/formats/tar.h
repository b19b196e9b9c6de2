#ifndef FEEDMILL_CORE_FORMATS_TAR_H_
#define FEEDMILL_CORE_FORMATS_TAR_H_

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "core/formats/tar_sparse.h"
#include "core/sources/framing.h"

namespace feedmill {

// A file of a tar archive whose name has a key and an extension.
// "a/photo.seg.png" has the key "a/photo" and the extension "seg.png".
// Extensions are lower-case.
struct TarMember {
  std::string key;
  std::string extension;
  std::string_view data;
  // If not null, the file is sparse with this map, and `data` is its stored
  // part.
  const TarSparseMap* sparse = nullptr;
};

// FindRecords for archives as WebDataset writes them. A record is the adjacent
// members of one key, with their headers.
//
// - Folders, links and names without a key or an extension are skipped.
// - Blocks of zeros are skipped, so that concatenated archives can be read.
// - Other bytes after an end mark (two blocks of zeros) are ignored.
// - Long names and sparse files of GNU tar and pax are supported.
Framed FindTarGroups(std::string_view window, bool at_end,
                     const WindowPlace& place, std::vector<Extent>& records);

// Calls `visit` for the members of a record of FindTarGroups. The map of a
// member is valid during the call, its data as long as `record`.
void ForEachTarMember(std::string_view record,
                      const std::function<void(const TarMember&)>& visit);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_FORMATS_TAR_H_
