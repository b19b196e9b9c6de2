#ifndef FEEDMILL_PYTHON_SRC_ARRAYS_H_
#define FEEDMILL_PYTHON_SRC_ARRAYS_H_

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "feedmill/element.h"

namespace feedmill::python {

// Forms of components that may be null. A null is
enum class Nulls {
  kError,   // refused by the caller (ChunkArrays::FirstNull)
  kFill,    // the value that stands for it
  kMasked,  // None, or masked in a numpy.ma.MaskedArray
  kSplit    // the value, beside a bool component "n_mask", which is false
};

// Returns InvalidArgument if a component has the name of another one's mask.
absl::Status CheckMaskNames(const ElementSpec& spec);

// The columns of a chunk as Python objects.
//
// Numbers, bools and times (datetime64) are read-only NumPy arrays over the
// chunk's own memory, which they keep alive. Byte strings are copied: a scalar
// becomes `bytes`, or `str` if it is text; a tensor of them an array of dtype
// object. Text that is not UTF-8 raises DataLoss.
//
// REQUIRES of every method: the GIL is held.
class ChunkArrays {
 public:
  ChunkArrays() = default;
  // `logical`: text is `str`, times are `datetime64`; else `bytes` and int64.
  ChunkArrays(Chunk chunk, Nulls nulls, bool logical);

  size_t rows() const { return chunk_.rows; }
  // Returns element `row`: a dict by component, or the bare value of a single
  // unnamed component. A scalar is a NumPy scalar. Returns a new reference, or
  // null if Python raised.
  PyObject* Row(size_t row) const;
  // Returns why a method raised for a text; OK if none did.
  const absl::Status& bad_text() const { return bad_text_; }
  // Returns all rows: each component is an array with a new first axis. A
  // component whose rows differ in shape is a list of arrays.
  nanobind::object Columns() const;
  // Returns the name of the first component with a null in rows [begin, end),
  // or nullopt.
  std::optional<std::string_view> FirstNull(size_t begin, size_t end) const;
  // Returns the address of the first item of each component.
  std::vector<uintptr_t> Addresses() const;

 private:
  PyObject* Component(size_t c, size_t row) const;
  LogicalType LogicalOf(size_t c) const {
    return logical_ ? chunk_.spec->components[c].logical : LogicalType::kNone;
  }
  nanobind::object StringOf(size_t c, std::string_view bytes) const;
  nanobind::object StringArray(size_t c, size_t row) const;
  // The same as Component, with nulls.
  nanobind::object MaskedComponent(size_t c, size_t row) const;
  nanobind::object ColumnOf(size_t c) const;
  // True if component c may be null, and gets a mask.
  bool IsMasked(size_t c) const { return !masked_.empty() && masked_[c]; }

  Chunk chunk_;
  bool logical_ = true;
  mutable absl::Status bad_text_;
  // The rows of each component as one array; null for byte strings and for rows
  // that differ in shape.
  std::vector<nanobind::object> arrays_;
  // The names of the components; empty for the single unnamed one. Null for a
  // component that is not shown.
  std::vector<nanobind::object> names_;
  std::vector<bool> masked_;  // empty: all false
};

}  // namespace feedmill::python

#endif  // FEEDMILL_PYTHON_SRC_ARRAYS_H_
