#ifndef FEEDMILL_ELEMENT_H_
#define FEEDMILL_ELEMENT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "absl/status/statusor.h"
#include "feedmill/chunk.h"
#include "feedmill/element_spec.h"

// Exported from libfeedmill.so.
#pragma GCC visibility push(default)
namespace feedmill {

// A view of one tensor: its items in C order, and its shape. Valid as long as
// the chunk.
template <class T>
struct TensorView {
  std::span<const T> items;
  std::span<const int64_t> shape;
};

// One element: a view of a row of a chunk, two words large. Valid until the
// reader gives its next chunk; keep a copy of the chunk to keep its elements.
//
// Components are found by index or by name. A component that does not exist, or
// has another type, aborts with a message that names it and lists those that
// exist. Reader::Column finds a component before the loop and returns an error
// instead.
class Element {
 public:
  Element(const Chunk* chunk, size_t row) : chunk_(chunk), row_(row) {}

  const Chunk& chunk() const { return *chunk_; }
  size_t row() const { return row_; }
  size_t components() const { return chunk_->columns.size(); }

  // A scalar component's value.
  template <class T>
  T Get(size_t component = 0) const {
    const Column& column = At(component, DTypeOf<T>());
    const auto item = static_cast<size_t>(ItemOf(column, component));
    T value;
    __builtin_memcpy(&value, column.values.data() + item * sizeof(T),
                     sizeof(T));
    return value;
  }
  template <class T>
  T Get(std::string_view name) const {
    return Get<T>(IndexOf(name));
  }

  // A component's items and their shape, without a copy.
  template <class T>
  TensorView<T> Tensor(size_t component = 0) const {
    const Column& column = At(component, DTypeOf<T>());
    const T* const items = reinterpret_cast<const T*>(column.values.data());
    if (!column.ragged()) {  // in line: elements may be small
      size_t count = 1;
      for (const int64_t dim : column.shape) count *= static_cast<size_t>(dim);
      return {{items + row_ * count, count}, column.shape};
    }
    const auto start = static_cast<size_t>(column.RowStart(row_));
    const auto count = static_cast<size_t>(column.RowItems(row_));
    return {{items + start, count}, column.RowDims(row_)};
  }
  template <class T>
  TensorView<T> Tensor(std::string_view name) const {
    return Tensor<T>(IndexOf(name));
  }

  // A scalar byte string.
  std::string_view Bytes(size_t component = 0) const {
    const Column& column = At(component, DType::kBytes);
    // BytesAt in line: elements may be small.
    const auto item = static_cast<size_t>(ItemOf(column, component));
    const auto* const offsets =
        reinterpret_cast<const int64_t*>(column.offsets.data()) + item;
    return {reinterpret_cast<const char*>(column.values.data()) + offsets[0],
            static_cast<size_t>(offsets[1] - offsets[0])};
  }
  std::string_view Bytes(std::string_view name) const {
    return Bytes(IndexOf(name));
  }

  // Returns the element as `feedmill read` prints it.
  std::string ToJson() const;

 private:
  const Column& At(size_t component, DType dtype) const {
    if (component >= chunk_->columns.size()) [[unlikely]]
      RefuseIndex(component);
    const Column& column = chunk_->columns[component];
    if (column.dtype != dtype) [[unlikely]]
      RefuseType(component, dtype);
    return column;
  }
  // The item that holds this row's scalar.
  int64_t ItemOf(const Column& column, size_t component) const {
    if (!column.shape.empty()) [[unlikely]]
      RefuseScalar(component);
    // RowStart in line: elements may be small.
    return column.ragged() ? column.row_starts.As<int64_t>()[row_]
                           : static_cast<int64_t>(row_);
  }
  size_t IndexOf(std::string_view name) const;

  // Say what is wrong, and abort.
  [[noreturn]] void RefuseIndex(size_t component) const;
  [[noreturn]] void RefuseType(size_t component, DType dtype) const;
  [[noreturn]] void RefuseScalar(size_t component) const;

  const Chunk* chunk_;
  size_t row_;
};

// The index of a component. NotFound if there is none of that name,
// InvalidArgument if it has another type; both list the components that exist.
absl::StatusOr<size_t> FindComponent(const ElementSpec& spec,
                                     std::string_view name, DType dtype);

// One component of a reader's elements, found before the loop (Reader::Column):
// its name and type are right, and reading it looks for no name. T is the C++
// type of its items, or std::string_view for byte strings.
template <class T>
class ElementColumn {
 public:
  static constexpr bool kBytes = std::is_same_v<T, std::string_view>;

  static absl::StatusOr<ElementColumn> Find(const ElementSpec& spec,
                                            std::string_view name) {
    DType dtype = DType::kBytes;
    if constexpr (!kBytes) dtype = DTypeOf<T>();
    const absl::StatusOr<size_t> index = FindComponent(spec, name, dtype);
    if (!index.ok()) return index.status();
    return ElementColumn(*index);
  }

  size_t index() const { return index_; }
  // The value of a scalar. Aborts with a message if the component is no scalar.
  T Get(const Element& element) const {
    if constexpr (kBytes) {
      return element.Bytes(index_);
    } else {
      return element.Get<T>(index_);
    }
  }
  // The items and their shape, without a copy.
  TensorView<T> Tensor(const Element& element) const
    requires(!kBytes)
  {
    return element.Tensor<T>(index_);
  }

 private:
  explicit ElementColumn(size_t index) : index_(index) {}

  size_t index_;
};

}  // namespace feedmill
#pragma GCC visibility pop

#endif  // FEEDMILL_ELEMENT_H_
