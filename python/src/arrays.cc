#include "python/src/arrays.h"

#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/status.h"
#include "core/chunk/validity.h"
#include "core/sources/record_decoder.h"
#include "feedmill/element.h"
#include "python/src/status.h"

namespace feedmill::python {
namespace {

namespace nb = nanobind;

nb::dlpack::dtype ArrayType(DType dtype) {
  if (dtype == DType::kBool) return nb::dtype<bool>();
  if (dtype == DType::kBFloat16) return nb::dtype<uint16_t>();
  if (dtype == DType::kFloat16) {
    return {static_cast<uint8_t>(nb::dlpack::dtype_code::Float), 16, 1};
  }
  return VisitNumeric(dtype, []<class T>(T) {
    return nb::dtype<std::conditional_t<kIsFloat16<T>, uint16_t, T>>();
  });
}

const char* NumPyName(DType dtype, LogicalType logical) {
  switch (logical) {
    case LogicalType::kDate:
      return "datetime64[D]";
    case LogicalType::kTimestampS:
      return "datetime64[s]";
    case LogicalType::kTimestampMs:
      return "datetime64[ms]";
    case LogicalType::kTimestampUs:
      return "datetime64[us]";
    case LogicalType::kTimestampNs:
      return "datetime64[ns]";
    case LogicalType::kNone:
    case LogicalType::kString:
      break;
  }
  return dtype == DType::kInt64 ? "int64" : "uint64";
}

// Returns an array over the items of `values` from byte `offset`, which keeps
// the memory alive.
nb::object ArrayOver(const Buffer& values, size_t offset, DType dtype,
                     LogicalType logical, const std::vector<size_t>& shape) {
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
  if (dtype == DType::kBFloat16) {
    return array.attr("view")(
        nb::module_::import_("feedmill._bfloat16").attr("bfloat16")());
  }
  // The buffer protocol names 64 bits "long long", which NumPy treats as a type
  // different from its int64.
  if (dtype != DType::kInt64 && dtype != DType::kUInt64) return array;
  return array.attr("view")(NumPyName(dtype, logical));
}

nb::object BytesOf(std::string_view bytes) {
  return nb::bytes(bytes.data(), bytes.size());
}

std::vector<size_t> RowsShape(size_t rows, const Shape& shape) {
  std::vector<size_t> dims{rows};
  for (const int64_t dim : shape) dims.push_back(static_cast<size_t>(dim));
  return dims;
}

std::string MaskName(std::string_view name) {
  return std::string(name) + "_mask";
}

nb::object TextOf(std::string_view name) {
  return nb::steal(PyUnicode_DecodeUTF8(
      name.data(), static_cast<Py_ssize_t>(name.size()), "surrogateescape"));
}

// Returns a numpy.ma.MaskedArray of an array and its validity, which may lack
// the last axes.
nb::object MaskedArray(const nb::object& values, const nb::object& valid) {
  nb::object mask = ~valid;
  while (nb::cast<int>(mask.attr("ndim")) <
         nb::cast<int>(values.attr("ndim"))) {
    mask = mask[nb::make_tuple(nb::ellipsis(), nb::none())];
  }
  mask = nb::module_::import_("numpy").attr("broadcast_to")(
      mask, values.attr("shape"));
  return nb::module_::import_("numpy.ma").attr("MaskedArray")(values, mask);
}

bool AllValid(const Column& validity, size_t begin, size_t end) {
  if (begin == end) return true;
  const auto first = static_cast<size_t>(validity.RowStart(begin));
  const auto last = static_cast<size_t>(validity.RowStart(end - 1) +
                                        validity.RowItems(end - 1));
  const auto* const items =
      reinterpret_cast<const uint8_t*>(validity.values.data());
  return std::find(items + first, items + last, 0) == items + last;
}

nb::object Utf8Text(std::string_view text) {
  return nb::steal(PyUnicode_DecodeUTF8(
      text.data(), static_cast<Py_ssize_t>(text.size()), nullptr));
}

}  // namespace

absl::Status CheckMaskNames(const ElementSpec& spec) {
  for (size_t c = 0; c < spec.components.size(); ++c) {
    const std::string& name = spec.components[c].name;
    if (!MayBeNull(std::span(spec.components), c) ||
        spec.Find(MaskName(name)) < 0) {
      continue;
    }
    return InvalidArgument(
        "nulls=\"masked\" gives \"{0}\" the mask \"{1}\", which is the name of "
        "a component; rename that one before: .rename({1}=\"…\")",
        name, MaskName(name));
  }
  return absl::OkStatus();
}

ChunkArrays::ChunkArrays(Chunk chunk, Nulls nulls, bool logical)
    : chunk_(std::move(chunk)), logical_(logical) {
  const std::span all(std::as_const(chunk_.spec->components));
  for (size_t c = 0; c < all.size() && !all[c].name.empty(); ++c) {
    if (!IsValidity(all, c)) {
      names_.push_back(TextOf(all[c].name));
    } else if (nulls == Nulls::kSplit) {
      names_.push_back(TextOf(MaskName(all[c - 1].name)));
    } else {
      names_.emplace_back();
    }
    if (nulls != Nulls::kMasked || !MayBeNull(all, c)) continue;
    masked_.resize(all.size());
    masked_[c] = true;
  }
  for (size_t c = 0; c < chunk_.columns.size(); ++c) {
    const Column& column = chunk_.columns[c];
    nb::object& array = arrays_.emplace_back();
    if (column.ragged() || column.dtype == DType::kBytes) continue;
    array = ArrayOver(column.values, 0, column.dtype, LogicalOf(c),
                      RowsShape(chunk_.rows, column.shape));
  }
}

nb::object ChunkArrays::StringOf(size_t c, std::string_view bytes) const {
  if (LogicalOf(c) != LogicalType::kString) return BytesOf(bytes);
  nb::object text = Utf8Text(bytes);
  if (text.is_valid()) return text;
  PyErr_Clear();
  bad_text_ = DataLoss(
      "component \"{0}\" has the text \"{1}\", which is not UTF-8; have it as "
      "bytes: types={{\"{0}\": \"bytes\"}} where the source infers its types, "
      "or "
      ".with_columns({0}=\"cast({0}, bytes)\")",
      chunk_.spec->components[c].name, Shown(bytes));
  Raise(bad_text_);
}

// Returns an array of dtype object with the byte strings of a row.
nb::object ChunkArrays::StringArray(size_t c, size_t row) const {
  const Column& column = chunk_.columns[c];
  nb::list items;
  const int64_t start = column.RowStart(row);
  for (int64_t k = 0; k < column.RowItems(row); ++k) {
    items.append(StringOf(c, column.BytesAt(start + k)));
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

PyObject* ChunkArrays::Component(size_t c, size_t row) const {
  if (arrays_[c].is_valid()) {
    return PySequence_GetItem(arrays_[c].ptr(), static_cast<Py_ssize_t>(row));
  }
  const Column& column = chunk_.columns[c];
  if (column.dtype == DType::kBytes) {
    if (!column.shape.empty()) return StringArray(c, row).release().ptr();
    return StringOf(c, column.BytesAt(column.RowStart(row))).release().ptr();
  }
  std::vector<size_t> shape;
  for (const int64_t dim : column.RowDims(row)) {
    shape.push_back(static_cast<size_t>(dim));
  }
  const size_t offset =
      static_cast<size_t>(column.RowStart(row)) * ItemSize(column.dtype);
  return ArrayOver(column.values, offset, column.dtype, LogicalOf(c), shape)
      .release()
      .ptr();
}

nb::object ChunkArrays::MaskedComponent(size_t c, size_t row) const {
  const Column& validity = chunk_.columns[c + 1];
  if (validity.shape.empty() && !AllValid(validity, row, row + 1)) {
    return nb::none();
  }
  nb::object value = nb::steal(Component(c, row));
  if (validity.shape.empty()) return value;
  return MaskedArray(value, nb::steal(Component(c + 1, row)));
}

std::optional<std::string_view> ChunkArrays::FirstNull(size_t begin,
                                                       size_t end) const {
  const std::span all(std::as_const(chunk_.spec->components));
  for (size_t c = 1; c < all.size(); ++c) {
    if (IsValidity(all, c) && !AllValid(chunk_.columns[c], begin, end)) {
      return all[c - 1].name;
    }
  }
  return std::nullopt;
}

PyObject* ChunkArrays::Row(size_t row) const {
  if (names_.empty()) return Component(0, row);
  nb::object element = nb::steal(PyDict_New());
  if (!element.is_valid()) return nullptr;
  for (size_t c = 0; c < names_.size(); ++c) {
    if (!names_[c].is_valid()) continue;
    PyObject* const value = IsMasked(c)
                                ? MaskedComponent(c, row).release().ptr()
                                : Component(c, row);
    const bool set = value != nullptr &&
                     PyDict_SetItem(element.ptr(), names_[c].ptr(), value) == 0;
    Py_XDECREF(value);
    if (!set) return nullptr;
  }
  return element.release().ptr();
}

std::vector<uintptr_t> ChunkArrays::Addresses() const {
  std::vector<uintptr_t> addresses;
  for (const Column& column : chunk_.columns) {
    addresses.push_back(reinterpret_cast<uintptr_t>(column.values.data()));
  }
  return addresses;
}

nb::object ChunkArrays::ColumnOf(size_t c) const {
  // An array that is null is None, as an element is.
  const bool none = IsMasked(c) && chunk_.columns[c + 1].shape.empty() &&
                    !chunk_.columns[c].shape.empty();
  if (arrays_[c].is_valid() && !none) {
    return IsMasked(c) ? MaskedArray(arrays_[c], arrays_[c + 1]) : arrays_[c];
  }
  nb::list rows;
  for (size_t row = 0; row < chunk_.rows; ++row) {
    rows.append(IsMasked(c) ? MaskedComponent(c, row)
                            : nb::steal(Component(c, row)));
  }
  return rows;
}

nb::object ChunkArrays::Columns() const {
  if (names_.empty()) return ColumnOf(0);
  nb::dict columns;
  for (size_t c = 0; c < names_.size(); ++c) {
    if (names_[c].is_valid()) columns[names_[c]] = ColumnOf(c);
  }
  return columns;
}

}  // namespace feedmill::python
