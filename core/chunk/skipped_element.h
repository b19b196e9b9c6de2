#ifndef FEEDMILL_CORE_CHUNK_SKIPPED_ELEMENT_H_
#define FEEDMILL_CORE_CHUNK_SKIPPED_ELEMENT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/chunk/cursor.h"
#include "feedmill/provenance.h"

namespace feedmill {

// An element that could not be made, for a reason that is a function of the
// data, and is left out (the step on_error).
struct SkippedElement {
  Cursor cursor;
  std::vector<RecordOrigin> records;  // that it was to be made of
  std::string error;
  friend bool operator==(const SkippedElement&,
                         const SkippedElement&) = default;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CHUNK_SKIPPED_ELEMENT_H_
