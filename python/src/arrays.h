#ifndef FEEDMILL_PYTHON_SRC_ARRAYS_H_
#define FEEDMILL_PYTHON_SRC_ARRAYS_H_

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "feedmill/element.h"

namespace feedmill::python {

// The columns of a chunk as Python objects.
//
// Numbers and bools are read-only NumPy arrays over the chunk's own memory,
// which they keep alive. Byte strings are copied: a scalar becomes `bytes`, a
// tensor of byte strings an array of dtype object.
//
// REQUIRES of every method: the GIL is held.
class ChunkArrays {
 public:
  ChunkArrays() = default;
  explicit ChunkArrays(Chunk chunk);

  size_t rows() const { return chunk_.rows; }
  // Returns element `row`: a dict by component, or the bare value of a single
  // unnamed component. A scalar is a NumPy scalar. Returns a new reference, or
  // null if Python raised.
  PyObject* Row(size_t row) const;
  // Returns all rows: each component is an array with a new first axis. A
  // component whose rows differ in shape is a list of arrays.
  nanobind::object Columns() const;
  // Returns the address of the first item of each component.
  std::vector<uintptr_t> Addresses() const;

 private:
  PyObject* Component(size_t c, size_t row) const;

  Chunk chunk_;
  // The rows of each component as one array; null for byte strings and for rows
  // that differ in shape.
  std::vector<nanobind::object> arrays_;
  // The names of the components; empty for the single unnamed one.
  std::vector<nanobind::object> names_;
};

}  // namespace feedmill::python

#endif  // FEEDMILL_PYTHON_SRC_ARRAYS_H_
