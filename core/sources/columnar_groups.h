#ifndef FEEDMILL_CORE_SOURCES_COLUMNAR_GROUPS_H_
#define FEEDMILL_CORE_SOURCES_COLUMNAR_GROUPS_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/dataset/fields.h"
#include "core/io/manifest_files.h"
#include "core/sources/columnar_file.h"

namespace feedmill {

// The rows of one group, decoded. Immutable.
struct DecodedGroup {
  size_t rows = 0;
  std::vector<DecodedColumn> columns;  // one per field
  size_t bytes = 0;                    // of memory, about
};

// Groups of the files of a manifest, decoded when they are needed. Keeps those
// used last, kBytesMax of them; a group that is larger is kept alone. A group
// all of whose rows were taken goes at once if more than kTakenBytesMax are
// kept, so that a pass in order reuses little memory. Threads that need the
// same group wait for the one that decodes it.
//
// Thread-safety: any thread.
class ColumnarGroups {
 public:
  static constexpr size_t kBytesMax = size_t{256} << 20;
  static constexpr size_t kTakenBytesMax = size_t{32} << 20;

  // `partitions`: a field that a file lacks is looked for in its path
  // (path_partitions.h). `files` must outlive this.
  ColumnarGroups(const ColumnarReader& reader, ColumnarFormat format,
                 std::vector<SourceField> fields, bool partitions,
                 const ManifestFiles& files)
      : reader_(reader),
        format_(format),
        fields_(std::move(fields)),
        partitions_(partitions),
        files_(files) {}

  const std::vector<SourceField>& fields() const { return fields_; }

  // First row of each group of a file, and the number of its rows at the end.
  using Starts = std::shared_ptr<const std::vector<uint64_t>>;
  absl::StatusOr<Starts> StartsOf(size_t file) const;

  // DataLoss if the bytes of the group are wrong; other errors are this
  // machine's.
  absl::StatusOr<std::shared_ptr<const DecodedGroup>> Get(size_t file,
                                                          size_t group) const;
  // Counts rows of a group that the caller has taken.
  void CountTaken(size_t file, size_t group, size_t rows) const;

 private:
  using Key = std::pair<size_t, size_t>;  // file, group
  struct Entry {
    std::mutex decoding;
    bool done = false;  // guarded by decoding, as the next two
    absl::Status error;
    std::shared_ptr<const DecodedGroup> group;
    size_t bytes = 0;  // guarded by mutex_, as the next two
    size_t taken = 0;  // rows
    std::list<Key>::iterator place;
  };
  using OpenedFile = std::shared_ptr<const ColumnarFile>;

  absl::StatusOr<OpenedFile> Open(size_t file) const;
  absl::StatusOr<std::shared_ptr<const DecodedGroup>> Decode(
      size_t file, size_t group) const;
  absl::StatusOr<std::vector<DecodedColumn>> ReadColumns(
      size_t file, size_t group, const ColumnarFile& opened) const;
  std::shared_ptr<Entry> EntryOf(const Key& key) const;
  void Keep(const Key& key, const Entry* entry, size_t bytes) const;
  void Drop(const Key& key, const Entry* entry) const;

  const ColumnarReader& reader_;
  const ColumnarFormat format_;
  const std::vector<SourceField> fields_;
  const bool partitions_;
  const ManifestFiles& files_;

  mutable std::mutex mutex_;
  mutable std::map<size_t, Starts> starts_;  // by file
  mutable std::list<std::pair<size_t, OpenedFile>> opened_;
  mutable std::map<Key, std::shared_ptr<Entry>> entries_;
  mutable std::list<Key> by_use_;  // most recently used first
  mutable size_t bytes_ = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_COLUMNAR_GROUPS_H_
