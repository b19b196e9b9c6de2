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

// A file of a tar archive whose name has a key and an extension:
// "a/photo.seg.png" is "seg.png" of "a/photo". Extensions are lower-case.
struct TarMember {
  std::string key;
  std::string extension;
  std::string_view data;
  // If not null, `data` is the stored part of a sparse file that has this map.
  const TarSparseMap* sparse = nullptr;
};

// FindRecords for archives as WebDataset writes them: a record is the members
// of one key that stand together, with their headers. Folders, links and names
// without a key or an extension are passed over, as are blocks of zeros, so
// that archives that were put one behind the other are read. Other bytes after
// an end mark (two blocks of zeros) are ignored. Long names and sparse files of
// GNU tar and pax are understood.
Framed FindTarGroups(std::string_view window, bool at_end,
                     const WindowPlace& place, std::vector<Extent>& records);

// Calls `visit` for the members of a record that FindTarGroups found. The
// member's map is valid during the call, its data as long as `record`.
void ForEachTarMember(std::string_view record,
                      const std::function<void(const TarMember&)>& visit);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_FORMATS_TAR_H_
