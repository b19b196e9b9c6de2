#ifndef FEEDMILL_CORE_FORMATS_ARRAY_RECORD_SOURCE_H_
#define FEEDMILL_CORE_FORMATS_ARRAY_RECORD_SOURCE_H_

#include <memory>

#include "core/io/manifest.h"
#include "core/sources/record_source.h"

namespace feedmill {

// The records of ArrayRecord files, counted, as one component of bytes. Only
// the chunks of the records that are read are read and decoded. Decoded chunks
// of several records are kept, those used last, up to 256 MiB of them.
std::unique_ptr<const RecordSource> MakeArrayRecordSource(
    std::shared_ptr<const Manifest> manifest);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_FORMATS_ARRAY_RECORD_SOURCE_H_
