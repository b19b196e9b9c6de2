#ifndef FEEDMILL_CORE_SOURCES_STREAMED_RECORDS_H_
#define FEEDMILL_CORE_SOURCES_STREAMED_RECORDS_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "core/sources/record_source.h"

namespace feedmill {

// Sources whose records are not counted: positions are blocks of files, or
// whole ones (SourcePositions). `live`: as RecordSource::Make. DataLoss if the
// manifest does not count so.
absl::StatusOr<std::unique_ptr<const RecordSource>> MakeStreamedRecords(
    const Source& source, const std::vector<bool>& live,
    std::shared_ptr<const Manifest> manifest);

// Sources whose records all have one size: fixed_length and npy.
absl::StatusOr<std::unique_ptr<const RecordSource>> MakeArrayRecords(
    const Source& source, const std::vector<bool>& live,
    std::shared_ptr<const Manifest> manifest);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_STREAMED_RECORDS_H_
