#ifndef FEEDMILL_CORE_SOURCES_VALUE_TEXT_H_
#define FEEDMILL_CORE_SOURCES_VALUE_TEXT_H_

#include <cstddef>
#include <string_view>

#include "absl/status/status.h"
#include "core/chunk/buffer_builder.h"
#include "feedmill/element.h"

namespace feedmill {

// Parses `text` as a number and appends it as one item of `dtype`: decimal
// integers in its range, floats (rounded to nearest; nan, inf), booleans (true,
// True, TRUE, 1 and the like). Returns false if `text` is no such number.
// REQUIRES: dtype is not kBytes; there are no spaces around the number.
bool AppendNumber(std::string_view text, DType dtype, BufferBuilder& values);

// Parses a date, or a date and time, of ISO 8601 as `time` and appends it.
// False for other text, for a time out of range, and for one between two units.
// REQUIRES: `time` is a date or a timestamp.
bool AppendTime(std::string_view text, LogicalType time, BufferBuilder& values);

// Same as AppendNumber for numbers of the most common form, and faster: up to
// 17 digits, with an optional '-' before them and an optional point between
// them. Returns false and appends nothing for other texts, and for numbers that
// need the general method. Where it returns true, FloatKeepsInteger is true,
// too.
bool AppendPlainNumber(std::string_view text, DType dtype,
                       BufferBuilder& values);

// Appends the item for a missing value: NaN, or an empty string if `dtype` is
// kBytes. Returns false if the dtype has no such item.
bool AppendMissing(DType dtype, BufferBuilder& values);

// False if `text` is an integer whose digits a float of `dtype` does not keep:
// the nearest one is neither equal to it, nor written with these digits as
// JavaScript and Go write it ("1152921504606847000" for 2^60). True for all
// other texts and dtypes.
bool FloatKeepsInteger(std::string_view text, DType dtype);

// The error of an integer that FloatKeepsInteger does not hold. `what`: e.g.
// "the column \"a\"".
absl::Status IntegerNotKept(std::string_view what, std::string_view text,
                            DType dtype);

// Finds the dtype that holds all numbers of a field exactly.
class NumberGuess {
 public:
  // Adds a number. Returns false if `text` is no number.
  bool Add(std::string_view text);
  // True if numbers were added, and no other texts.
  bool all_numbers() const { return any_ && !other_; }
  // True if numbers were added.
  bool any() const { return any_; }
  // Returns int64; uint64 if only that holds all numbers; float64 if some are
  // not integers, or if values are `missing`, which become NaN. Returns bytes,
  // the texts as written, if no dtype holds all integers exactly
  // (FloatKeepsInteger). Other texts are ignored.
  DType Result(bool missing) const;

 private:
  bool any_ = false;
  bool other_ = false;
  bool real_ = false;       // a number that is not written as an integer
  bool int64_ = true;       // all integers fit int64
  bool uint64_ = true;      // all integers fit uint64
  bool in_float64_ = true;  // all integers are at most 2^53
  bool kept_ = true;        // FloatKeepsInteger of all integers
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_VALUE_TEXT_H_
