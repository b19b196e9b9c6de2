#include "python/src/arrays.h"

#include <nanobind/ndarray.h>

#include <cstdint>
#include <string_view>
#include <utility>

#include "feedmill/element.h"

namespace feedmill::python {
namespace {

namespace nb = nanobind;

nb::dlpack::dtype ArrayType(DType dtype) {
  if (dtype == DType::kBool) return nb::dtype<bool>();
  return VisitNumeric(dtype,
                      [](auto item) { return nb::dtype<decltype(item)>(); });
}

// Returns an array over the items of `values` from byte `offset`, which keeps
// the memory alive.
nb::object ArrayOver(const Buffer& values, size_t offset, DType dtype,
                     const std::vector<size_t>& shape) {
  static constexpr std::byte kNothing[kBufferAlignment] = {};
  auto owned = std::make_unique<Buffer>(values);
  const std::byte* data =
      values.data() == nullptr ? kNothing : values.data() + offset;
  const nb::capsule owner(owned.get(), [](void* buffer) noexcept {
    delete static_cast<Buffer*>(buffer);
  });
  static_cast<void>(owned.release());
  nb::object array = nb::cast(nb::ndarray<nb::numpy, nb::ro>(
      data, shape.size(), shape.data(), owner, nullptr, ArrayType(dtype)));
  // The buffer protocol names 64 bits "long long", which NumPy treats as a type
  // different from its int64.
  if (dtype != DType::kInt64 && dtype != DType::kUInt64) return array;
  return array.attr("view")(dtype == DType::kInt64 ? "int64" : "uint64");
}

nb::object BytesOf(std::string_view bytes) {
  return nb::bytes(bytes.data(), bytes.size());
}

// Returns an array of dtype object with the byte strings of a row.
nb::object BytesArray(const Column& column, size_t row) {
  nb::list items;
  const int64_t start = column.RowStart(row);
  for (int64_t k = 0; k < column.RowItems(row); ++k) {
    items.append(BytesOf(column.BytesAt(start + k)));
  }
  nb::list shape;
  for (const int64_t dim : column.RowDims(row)) shape.append(dim);
  const nb::module_ numpy = nb::module_::import_("numpy");
  nb::object array = numpy.attr("empty")(nb::len(items), "object");
  array[nb::slice(nb::none(), nb::none(), nb::none())] = items;
  array = array.attr("reshape")(nb::tuple(shape));
  array.attr("flags").attr("writeable") = false;
  return array;
}

std::vector<size_t> RowsShape(size_t rows, const Shape& shape) {
  std::vector<size_t> dims{rows};
  for (const int64_t dim : shape) dims.push_back(static_cast<size_t>(dim));
  return dims;
}

}  // namespace

ChunkArrays::ChunkArrays(Chunk chunk) : chunk_(std::move(chunk)) {
  for (const ComponentSpec& component : chunk_.spec->components) {
    if (component.name.empty()) break;
    names_.push_back(nb::steal(PyUnicode_DecodeUTF8(
        component.name.data(), static_cast<Py_ssize_t>(component.name.size()),
        "surrogateescape")));
  }
  for (const Column& column : chunk_.columns) {
    nb::object& array = arrays_.emplace_back();
    if (column.ragged() || column.dtype == DType::kBytes) continue;
    array = ArrayOver(column.values, 0, column.dtype,
                      RowsShape(chunk_.rows, column.shape));
  }
}

PyObject* ChunkArrays::Component(size_t c, size_t row) const {
  if (arrays_[c].is_valid()) {
    return PySequence_GetItem(arrays_[c].ptr(), static_cast<Py_ssize_t>(row));
  }
  const Column& column = chunk_.columns[c];
  if (column.dtype == DType::kBytes) {
    if (!column.shape.empty()) return BytesArray(column, row).release().ptr();
    return BytesOf(column.BytesAt(column.RowStart(row))).release().ptr();
  }
  std::vector<size_t> shape;
  for (const int64_t dim : column.RowDims(row)) {
    shape.push_back(static_cast<size_t>(dim));
  }
  const size_t offset =
      static_cast<size_t>(column.RowStart(row)) * ItemSize(column.dtype);
  return ArrayOver(column.values, offset, column.dtype, shape).release().ptr();
}

PyObject* ChunkArrays::Row(size_t row) const {
  if (names_.empty()) return Component(0, row);
  PyObject* const element = PyDict_New();
  if (element == nullptr) return nullptr;
  for (size_t c = 0; c < names_.size(); ++c) {
    PyObject* const value = Component(c, row);
    const bool set = value != nullptr &&
                     PyDict_SetItem(element, names_[c].ptr(), value) == 0;
    Py_XDECREF(value);
    if (set) continue;
    Py_DECREF(element);
    return nullptr;
  }
  return element;
}

std::vector<uintptr_t> ChunkArrays::Addresses() const {
  std::vector<uintptr_t> addresses;
  for (const Column& column : chunk_.columns) {
    addresses.push_back(reinterpret_cast<uintptr_t>(column.values.data()));
  }
  return addresses;
}

nb::object ChunkArrays::Columns() const {
  const auto rows_of = [&](size_t c) -> nb::object {
    if (arrays_[c].is_valid()) return arrays_[c];
    nb::list rows;
    for (size_t row = 0; row < chunk_.rows; ++row) {
      rows.append(nb::steal(Component(c, row)));
    }
    return rows;
  };
  if (names_.empty()) return rows_of(0);
  nb::dict columns;
  for (size_t c = 0; c < names_.size(); ++c) columns[names_[c]] = rows_of(c);
  return columns;
}

}  // namespace feedmill::python
