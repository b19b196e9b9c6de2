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

namespace feedmill {

// The part of a kind of source (SourceKind::format) that makes records of its
// own. `options` is that of a source of the kind. FileSourceOf
// (core/formats/file_source_of.h) implements it.
//
// Thread-safety: immutable; any thread.
class RecordFormat {
 public:
  virtual ~RecordFormat() = default;

  // The number of records, where the options alone tell it: a source without
  // files.
  virtual std::optional<uint64_t> Size(const void* options) const = 0;
  // The order of the records in a file; null if a file is not read by records.
  virtual std::shared_ptr<const Framing> MakeFraming(
      const void* options) const = 0;
  // Decodes records; `live` are the components that it makes, all if empty.
  // REQUIRES: MakeFraming is not null.
  virtual std::unique_ptr<const RecordDecoder> MakeDecoder(
      const void* options, const std::vector<bool>& live) const = 0;
  // Finds the fields out from the beginning of `files`, which are not empty.
  virtual absl::StatusOr<std::vector<SourceField>> InferFields(
      const void* options, const std::vector<std::string>& files) const = 0;
  // Returns those of the files that a pattern of the source matches which it
  // reads. NotFound if none is left.
  virtual absl::StatusOr<std::vector<FoundFile>> FilesToRead(
      const std::string& pattern, std::vector<FoundFile> found) const = 0;
  // Counts the records of an open file of `size` bytes, for positions that are
  // records and not indexed.
  virtual absl::StatusOr<uint64_t> CountRecords(const void* options,
                                                const RandomAccessFile& file,
                                                uint64_t size) const = 0;
  // Adds to a manifest with all files what all processes must know of them.
  virtual void FinishManifest(const void* options,
                              Manifest& manifest) const = 0;
  // Says in lines of --explain what the manifest means for the components that
  // are `made`. `of` stands before the source: "inputs[0] " or "".
  virtual std::string DescribeManifest(const void* options,
                                       const Manifest& manifest,
                                       const ElementSpec& made,
                                       const std::string& of) const = 0;
  // As RecordSource::Make.
  virtual absl::StatusOr<std::unique_ptr<const RecordSource>> MakeRecords(
      const void* options, bool counted,
      std::shared_ptr<const Manifest> manifest,
      const std::vector<bool>& live) const = 0;
};

// The same of a source. REQUIRES: it has records of its own.
const RecordFormat& FormatOf(const Source& source);
std::shared_ptr<const Framing> FramingOf(const Source& source);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_RECORD_FORMAT_H_
