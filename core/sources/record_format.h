#ifndef FEEDMILL_CORE_SOURCES_RECORD_FORMAT_H_
#define FEEDMILL_CORE_SOURCES_RECORD_FORMAT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/dataset/source.h"
#include "core/io/file_system.h"
#include "core/io/manifest.h"
#include "core/io/random_access_file.h"
#include "core/sources/framing.h"
#include "core/sources/record_decoder.h"
#include "core/sources/record_source.h"
#include "core/sources/row_filter.h"

namespace feedmill {

// The part of a source kind that reads records (SourceKind::format). `options`
// belongs to a source of this kind. FileSourceOf
// (core/formats/file_source_of.h) implements it.
//
// Thread-safety: immutable; any thread.
class RecordFormat {
 public:
  virtual ~RecordFormat() = default;

  // Number of records, if the options alone determine it (a source without
  // files).
  virtual std::optional<uint64_t> Size(const void* options) const = 0;
  // Returns the layout of records in a file; null if a file is not a sequence
  // of records.
  virtual std::shared_ptr<const Framing> MakeFraming(
      const void* options) const = 0;
  // Returns the decoder of the components in `live`, or of all if it is empty.
  // REQUIRES: MakeFraming is not null.
  virtual std::unique_ptr<const RecordDecoder> MakeDecoder(
      const void* options, const std::vector<bool>& live) const = 0;
  // Infers the fields from the beginning of `files`. REQUIRES: `files` is not
  // empty.
  virtual absl::StatusOr<std::vector<SourceField>> InferFields(
      const void* options, const std::vector<FoundFile>& files) const = 0;
  // Returns the files, of those that a pattern matches, which the source reads.
  // NotFound if there are none.
  virtual absl::StatusOr<std::vector<FoundFile>> FilesToRead(
      const std::string& pattern, std::vector<FoundFile> found) const = 0;
  // Counts the records of an open file of `size` bytes. For positions that are
  // records without an index.
  virtual absl::StatusOr<uint64_t> CountRecords(const void* options,
                                                const RandomAccessFile& file,
                                                uint64_t size) const = 0;
  // Completes a manifest of all files with data that all processes need.
  virtual void FinishManifest(const void* options,
                              Manifest& manifest) const = 0;
  // Returns lines for --explain: the meaning of the manifest for the components
  // in `made`. `of` precedes the source: "inputs[0] " or "".
  virtual std::string DescribeManifest(const void* options,
                                       const Manifest& manifest,
                                       const ElementSpec& made,
                                       const std::string& of) const = 0;
  // See RecordSource::Make.
  virtual absl::StatusOr<std::unique_ptr<const RecordSource>> MakeRecords(
      const void* options, bool counted,
      std::shared_ptr<const Manifest> manifest, const std::vector<bool>& live,
      const RowFilter& filter) const = 0;
};

// Return these parts of a source. REQUIRES: the source has a format.
const RecordFormat& FormatOf(const Source& source);
std::shared_ptr<const Framing> FramingOf(const Source& source);

// True if reading files of this kind may need an index of where their records
// begin. Compressed files never do.
bool MayNeedIndex(const SourceKind& kind);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_RECORD_FORMAT_H_
