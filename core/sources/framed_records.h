#ifndef FEEDMILL_CORE_SOURCES_FRAMED_RECORDS_H_
#define FEEDMILL_CORE_SOURCES_FRAMED_RECORDS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "core/dataset/source_kind.h"
#include "core/io/manifest.h"
#include "core/sources/framing.h"
#include "core/sources/record_decoder.h"
#include "core/sources/record_source.h"
#include "feedmill/sources.h"

namespace feedmill {

// The parts of a source whose records follow one another in files.
struct FramedRecords {
  std::shared_ptr<const Framing> framing;
  std::unique_ptr<const RecordDecoder> decoder;
  Compression compression = Compression::kNone;
  SourceProperties properties;
};

// Counted records: an index finds them, then they are decoded.
std::unique_ptr<const RecordSource> MakeDecodedRecords(
    FramedRecords records, std::shared_ptr<const Manifest> manifest);

// Records that are not counted: positions are blocks of files, or whole ones
// (SourceProperties::positions). DataLoss if the manifest does not count so.
absl::StatusOr<std::unique_ptr<const RecordSource>> MakeStreamedRecords(
    FramedRecords records, std::shared_ptr<const Manifest> manifest);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_FRAMED_RECORDS_H_
