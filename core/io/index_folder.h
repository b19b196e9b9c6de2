#ifndef FEEDMILL_CORE_IO_INDEX_FOLDER_H_
#define FEEDMILL_CORE_IO_INDEX_FOLDER_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "core/io/file_identity.h"
#include "core/io/record_index.h"

namespace feedmill {

// Keeps the indexes of large files in one folder for later processes. Each
// index is a file, named by the hash of its subject. The folder is a cache: an
// index that is unreadable, damaged or of another file counts as missing, and
// one that cannot be written is skipped. Thread-safety: any thread, any number
// of processes.
class IndexFolder {
 public:
  // Smaller files are not kept: indexing them is faster than loading the index.
  static constexpr uint64_t kFileBytesMin = uint64_t{1} << 20;
  // Most bytes of all indexes together. The oldest indexes are removed first.
  static constexpr uint64_t kFolderBytesMax = uint64_t{1} << 30;

  // Returns $FEEDMILL_INDEXES if it is set; if it is empty, no indexes are
  // kept. Default: feedmill/indexes in the user's cache folder ($XDG_CACHE_HOME
  // or $HOME/.cache). Empty if neither variable is set.
  static std::string OfUser();

  explicit IndexFolder(std::string path) : path_(std::move(path)) {}

  // Returns the kept index, if any. `finder`: name of the RecordFinder that
  // made it.
  std::optional<RecordIndex> Load(std::string_view finder,
                                  const std::string& file,
                                  const FileIdentity& identity) const;
  // Keeps an index. OK also if nothing is kept: no folder, or a small file.
  // ResourceExhausted if the index is too large, Unavailable if it cannot be
  // written.
  absl::Status Store(std::string_view finder, const std::string& file,
                     const FileIdentity& identity,
                     const RecordIndex& index) const;
  const std::string& path() const { return path_; }

 private:
  void DropOldest() const;

  const std::string path_;  // empty: keeps nothing
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_INDEX_FOLDER_H_
