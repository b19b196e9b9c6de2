#ifndef FEEDMILL_CORE_CHUNK_SKIPPED_ELEMENT_H_
#define FEEDMILL_CORE_CHUNK_SKIPPED_ELEMENT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/chunk/cursor.h"

namespace feedmill {

// A record of a source that an element was made of.
struct RecordOrigin {
  std::string file;     // "" where there are none
  uint64_t record = 0;  // its number in the file, from 0
  // Where records are not counted, those of a file are numbered from this place
  // on: those that begin in that block of 4 MiB.
  uint64_t offset = 0;
  uint64_t epoch = 0;  // the combined pass of all repeats
  friend bool operator==(const RecordOrigin&, const RecordOrigin&) = default;
};

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
