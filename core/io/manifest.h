#ifndef FEEDMILL_CORE_IO_MANIFEST_H_
#define FEEDMILL_CORE_IO_MANIFEST_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/io/file_identity.h"

namespace feedmill {

// One file of a manifest, as it was when the job began.
struct ManifestFile {
  std::string path;  // or URL
  uint64_t size = 0;
  int64_t mtime_ns = 0;
  uint64_t records = 0;  // positions: records, or blocks of an uncounted source
  std::string etag{};

  FileIdentity identity() const { return {size, mtime_ns, etag}; }
  void Set(const FileIdentity& identity) {
    size = identity.size;
    mtime_ns = identity.mtime_ns;
    etag = identity.etag;
  }
};

// A file that expressions name (core/dataset/named_files.h), with the XXH3-128
// of its content.
struct NamedContent {
  std::string path;
  uint64_t hash_low = 0;
  uint64_t hash_high = 0;

  friend bool operator==(const NamedContent&, const NamedContent&) = default;
};

// The files that an iteration reads, in order. Globs are resolved (sorted
// bytewise), and records are counted where the plan needs it. The hash of a
// manifest is part of the plan's identity. A file that no longer matches fails
// its split.
struct Manifest {
  std::vector<ManifestFile> files;
  // For images: the sorted label names. Empty if all labels are integers.
  std::vector<std::string> classes;
  // If the source is made of inputs: one manifest for each. The fields above
  // are then empty.
  std::vector<Manifest> inputs;
  // The files that expressions name, sorted by path; empty in inputs.
  std::vector<NamedContent> contents;
  // The files of the table of the source, and of each lookup step; no inputs.
  std::vector<Manifest> tables;

  uint64_t TotalRecords() const;  // of inputs, too
  uint64_t TotalBytes() const;
  std::string Serialize() const;
  static absl::StatusOr<Manifest> Parse(std::string_view text);
  // XXH3-128, 32 hex digits. Weak ETags do not count: an equal one does not
  // prove equal bytes.
  std::string Hash() const;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_MANIFEST_H_
