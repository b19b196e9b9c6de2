#ifndef FEEDMILL_CORE_CHUNK_SKIPPED_ELEMENT_H_
#define FEEDMILL_CORE_CHUNK_SKIPPED_ELEMENT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/chunk/cursor.h"
#include "feedmill/element.h"

namespace feedmill {

// An element that was skipped (the step on_error), because making it failed for
// a reason that depends on the data only.
struct SkippedElement {
  Cursor cursor;
  std::vector<RecordOrigin> records;  // inputs of the element
  std::string error;
  // In this process: an on_error of the enclosing pipeline skipped it, not one
  // of the pipeline that makes it.
  bool outer = false;
  friend bool operator==(const SkippedElement&,
                         const SkippedElement&) = default;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CHUNK_SKIPPED_ELEMENT_H_
