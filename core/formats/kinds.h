#ifndef FEEDMILL_CORE_FORMATS_KINDS_H_
#define FEEDMILL_CORE_FORMATS_KINDS_H_

#include <vector>

#include "core/dataset/source_kind.h"

namespace feedmill {

// The kinds of sources that read records themselves, each in its own file, in
// the order of docs/semantics/sources.md. A new kind is added here, twice.
const SourceKind& RangeKind();
const SourceKind& TfRecordKind();
const SourceKind& TextKind();
const SourceKind& ImagesKind();
const SourceKind& CsvKind();
const SourceKind& JsonlKind();
const SourceKind& FixedLengthKind();
const SourceKind& NpyKind();
const SourceKind& WebDatasetKind();
const SourceKind& ParquetKind();
const SourceKind& ArrowKind();
const SourceKind& MdsKind();
const SourceKind& LmdbKind();
const SourceKind& ArrayRecordKind();
const SourceKind& GeneratorKind();

inline std::vector<const SourceKind*> BuiltinFormats() {
  return {
      &RangeKind(),      &TfRecordKind(),    &TextKind(),        &ImagesKind(),
      &CsvKind(),        &JsonlKind(),       &FixedLengthKind(), &NpyKind(),
      &WebDatasetKind(), &ParquetKind(),     &ArrowKind(),       &MdsKind(),
      &LmdbKind(),       &ArrayRecordKind(), &GeneratorKind(),
  };
}

}  // namespace feedmill

#endif  // FEEDMILL_CORE_FORMATS_KINDS_H_
