#ifndef FEEDMILL_CORE_SOURCES_VALUE_TEXT_H_
#define FEEDMILL_CORE_SOURCES_VALUE_TEXT_H_

#include <string_view>

#include "core/chunk/buffer_builder.h"
#include "feedmill/chunk.h"
#include "feedmill/element_spec.h"

namespace feedmill {

// Appends the number that `text` writes, as one item of `dtype`: decimal
// integers in its range, floats (rounded to nearest; nan, inf), booleans
// (true, True, TRUE, 1 and the like). False: it writes none.
// REQUIRES: dtype is not kBytes; no spaces stand around the number.
bool AppendNumber(std::string_view text, DType dtype, BufferBuilder& values);

// Without spaces, tabs and line ends around it.
std::string_view TrimmedValue(std::string_view text);

// Appends what stands for no value: NaN, or an empty string if `dtype` is
// kBytes. False: the dtype has nothing for that.
bool AppendMissing(DType dtype, BufferBuilder& values);

// Finds the type that holds all numbers of a field exactly.
class NumberGuess {
 public:
  // Adds a number. False: `text` is none.
  bool Add(std::string_view text);
  // True if numbers were added, and nothing else.
  bool all_numbers() const { return any_ && !other_; }
  // True if numbers were added.
  bool any() const { return any_; }
  // Int64, or uint64 where that holds all; float64 if some are no integers, or
  // if some are `missing`, which NaN stands for. Bytes, the texts as they are
  // written, for integers that none of these holds exactly.
  // Other texts that were added count for nothing.
  DType Result(bool missing) const;

 private:
  bool any_ = false;
  bool other_ = false;
  bool real_ = false;       // a number that is not written as an integer
  bool int64_ = true;       // all integers fit
  bool uint64_ = true;      // the same
  bool in_float64_ = true;  // all integers are at most 2^53
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_VALUE_TEXT_H_
