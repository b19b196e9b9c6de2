#ifndef FEEDMILL_CORE_SOURCES_INDEXED_RECORDS_H_
#define FEEDMILL_CORE_SOURCES_INDEXED_RECORDS_H_

#include <memory>

#include "core/io/manifest.h"
#include "core/sources/framing.h"
#include "core/sources/record_source.h"

namespace feedmill {

// Returns counted records, found by an index of offsets, as byte strings: the
// data of TFRecords, lines without their ends, or, for other formats, all bytes
// up to the next record.
std::unique_ptr<const RecordSource> MakeIndexedRecords(

    std::shared_ptr<const Framing> framing,
    std::shared_ptr<const Manifest> manifest);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_INDEXED_RECORDS_H_
