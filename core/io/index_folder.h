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

// Indexes of large files, kept from one process to the next: a file of each in
// one folder, named by what it is the index of. A cache: what cannot be read,
// is damaged or is another file's is not there, and what cannot be written is
// left out. Any thread, any number of processes.
class IndexFolder {
 public:
  // Smaller files are indexed faster than their index is found.
  static constexpr uint64_t kFileBytesMin = uint64_t{1} << 20;
  // Of all indexes together; the oldest go.
  static constexpr uint64_t kFolderBytesMax = uint64_t{1} << 30;

  // $FEEDMILL_INDEXES, which may be empty: none are kept. Else the user's cache
  // folder: feedmill/indexes in $XDG_CACHE_HOME or $HOME/.cache; empty if there
  // is neither.
  static std::string OfUser();

  explicit IndexFolder(std::string path) : path_(std::move(path)) {}

  // `finder`: the name of the RecordFinder that made the index.
  std::optional<RecordIndex> Load(std::string_view finder,
                                  const std::string& file,
                                  const FileIdentity& identity) const;
  // OK where there is nothing to keep: no folder, or a small file.
  // ResourceExhausted for one that is too large, Unavailable where it cannot be
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
