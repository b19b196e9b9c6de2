#ifndef FEEDMILL_CORE_SOURCES_INDEX_FILES_H_
#define FEEDMILL_CORE_SOURCES_INDEX_FILES_H_

#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/statusor.h"
#include "core/dataset/analysis.h"
#include "core/io/index_folder.h"
#include "core/sources/framing.h"

namespace feedmill {

// A file whose records are read by an index of their places.
struct IndexedFile {
  std::shared_ptr<const Framing> framing;
  std::string path;

  friend auto operator<=>(const IndexedFile& a, const IndexedFile& b) {
    return std::tie(a.framing->name(), a.path) <=>
           std::tie(b.framing->name(), b.path);
  }
  friend bool operator==(const IndexedFile& a, const IndexedFile& b) {
    return (a <=> b) == 0;
  }
};

// Appends the files that reading `graph` indexes, including files of inputs, in
// the manifest's order. Missing files are added to `errors` as NotFound.
void FindIndexedFiles(const AnalyzedGraph& graph,
                      std::vector<IndexedFile>& files,
                      std::vector<absl::Status>& errors);

struct KeptIndex {
  enum class How {
    kBuilt,
    kThere,  // it was in the folder already
    kSmall,  // sound, but below IndexFolder::kFileBytesMin: not kept
  } how = How::kBuilt;
  uint64_t records = 0;
  uint64_t file_bytes = 0;
  uint64_t index_bytes = 0;  // size in the folder
};

// Stores the file's index in the folder. Errors name the path: NotFound;
// DataLoss if the file is corrupt; ResourceExhausted if the index is too large
// to be kept; Unavailable if the folder cannot be written. Any thread.
absl::StatusOr<KeptIndex> KeepIndex(const IndexedFile& file,
                                    const IndexFolder& folder);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_INDEX_FILES_H_
