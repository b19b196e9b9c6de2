#ifndef FEEDMILL_CORE_SOURCES_FRAMED_RECORDS_H_
#define FEEDMILL_CORE_SOURCES_FRAMED_RECORDS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "core/dataset/source_kind.h"
#include "core/io/byte_stream.h"
#include "core/io/manifest.h"
#include "core/sources/framing.h"
#include "core/sources/record_decoder.h"
#include "core/sources/record_source.h"
#include "feedmill/dataset_options.h"

namespace feedmill {

// The parts of a source whose files are sequences of records.
struct FramedRecords {
  std::shared_ptr<const Framing> framing;
  std::unique_ptr<const RecordDecoder> decoder;
  StreamCoding coding = Compression::kNone;
  SourceProperties properties;
};

// Returns counted records, which are found by an index and then decoded.
std::unique_ptr<const RecordSource> MakeDecodedRecords(
    FramedRecords records, std::shared_ptr<const Manifest> manifest);

// Returns uncounted records: positions are blocks of files or whole files
// (SourceProperties::positions). DataLoss if the manifest counts otherwise.
absl::StatusOr<std::unique_ptr<const RecordSource>> MakeStreamedRecords(
    FramedRecords records, std::shared_ptr<const Manifest> manifest);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_FRAMED_RECORDS_H_
