#ifndef FEEDMILL_ELEMENT_H_
#define FEEDMILL_ELEMENT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "feedmill/float16.h"

// Elements, and the columns that hold them:
//
//   DType, ElementSpec   names, types and shapes, known before data is read
//   Chunk, Column        many elements, by columns
//   Element              one of them: a row of a chunk
//   ElementColumn        a component that was found before the loop
//   RecordOrigin         a record that an element was made of
//
//   for (const feedmill::Element& element : *reader) {  // reader.h
//     Train(element.Tensor<float>("image"), element.Get<int64_t>("label"));
//   }

// Exported from libfeedmill.so.
#pragma GCC visibility push(default)
namespace feedmill {

// ---- types

// The codes are part of the wire format and of the order hash: never renumber.
enum class DType : uint8_t {
  kBool = 1,
  kInt8 = 2,
  kInt16 = 3,
  kInt32 = 4,
  kInt64 = 5,
  kUInt8 = 6,
  kUInt16 = 7,
  kUInt32 = 8,
  kUInt64 = 9,
  kFloat32 = 10,
  kFloat64 = 11,
  kBytes = 12,  // a byte string of any length; text is UTF-8 in it
  kFloat16 = 13,
  kBFloat16 = 14,  // the upper half of a float32
};

// Bytes of one item; 0 for kBytes.
size_t ItemSize(DType dtype);

// NumPy's name: "bool", "int64", "float32", …; "bytes" for kBytes.
std::string_view DTypeName(DType dtype);
std::optional<DType> DTypeFromName(std::string_view name);

// The meaning of a component's items. Pipelines compute with the dtype alone;
// Python, Arrow and people get values of this type.
enum class LogicalType : uint8_t {
  kNone = 0,
  kString = 1,       // bytes that are UTF-8 text
  kDate = 2,         // int64: days since 1970-01-01
  kTimestampS = 3,   // int64: seconds since 1970-01-01 00:00 UTC
  kTimestampMs = 4,  // and milliseconds,
  kTimestampUs = 5,  // microseconds,
  kTimestampNs = 6,  // nanoseconds
};

// Returns "str", "date", "timestamp[us]"; DTypeName(dtype) for kNone.
std::string_view TypeName(DType dtype, LogicalType logical);

struct NamedType {
  DType dtype;
  LogicalType logical;
};
// Returns the type of a name of TypeName. "timestamp" has microseconds.
std::optional<NamedType> TypeFromName(std::string_view name);

bool IsInteger(DType dtype);  // without bool
bool IsSigned(DType dtype);   // signed integers
bool IsFloat(DType dtype);
bool IsFloat16(DType dtype);  // one of 16 bits

// The dtype of a C++ type; bool is DType::kBool.
template <class T>
constexpr DType DTypeOf() {
  if constexpr (std::is_same_v<T, bool>) return DType::kBool;
  if constexpr (std::is_same_v<T, int8_t>) return DType::kInt8;
  if constexpr (std::is_same_v<T, int16_t>) return DType::kInt16;
  if constexpr (std::is_same_v<T, int32_t>) return DType::kInt32;
  if constexpr (std::is_same_v<T, int64_t>) return DType::kInt64;
  if constexpr (std::is_same_v<T, uint8_t>) return DType::kUInt8;
  if constexpr (std::is_same_v<T, uint16_t>) return DType::kUInt16;
  if constexpr (std::is_same_v<T, uint32_t>) return DType::kUInt32;
  if constexpr (std::is_same_v<T, uint64_t>) return DType::kUInt64;
  if constexpr (std::is_same_v<T, float>) return DType::kFloat32;
  if constexpr (std::is_same_v<T, double>) return DType::kFloat64;
  if constexpr (std::is_same_v<T, Float16>) return DType::kFloat16;
  if constexpr (std::is_same_v<T, BFloat16>) return DType::kBFloat16;
}

// Calls f with a value-initialised item of the C++ type of `dtype`
// (bool is uint8_t holding 0 or 1). REQUIRES: dtype != kBytes.
template <class F>
decltype(auto) VisitNumeric(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kBool:
      return f(uint8_t{});
    case DType::kInt8:
      return f(int8_t{});
    case DType::kInt16:
      return f(int16_t{});
    case DType::kInt32:
      return f(int32_t{});
    case DType::kInt64:
      return f(int64_t{});
    case DType::kUInt8:
      return f(uint8_t{});
    case DType::kUInt16:
      return f(uint16_t{});
    case DType::kUInt32:
      return f(uint32_t{});
    case DType::kUInt64:
      return f(uint64_t{});
    case DType::kFloat32:
      return f(float{});
    case DType::kFloat64:
      return f(double{});
    case DType::kFloat16:
      return f(Float16{});
    case DType::kBFloat16:
      return f(BFloat16{});
    case DType::kBytes:
      break;
  }
  __builtin_unreachable();
}

// A dimension that is not known before the data is seen.
inline constexpr int64_t kUnknownDim = -1;

using Shape = std::vector<int64_t>;

// Name, dtype and shape of one component, known before any data is read.
// The rank is always known; a dimension may be kUnknownDim.
struct ComponentSpec {
  std::string name;  // empty for the single unnamed component
  DType dtype = DType::kInt64;
  Shape shape;  // of one element: {} for a scalar
  // Values of components that differ in it alone are equal.
  LogicalType logical = LogicalType::kNone;

  bool IsStatic() const;  // no unknown dimension
  friend bool operator==(const ComponentSpec& a, const ComponentSpec& b) {
    return a.name == b.name && a.dtype == b.dtype && a.shape == b.shape;
  }
};

// The components of an element, in order. Names are unique; an unnamed
// component is the only one.
struct ElementSpec {
  std::vector<ComponentSpec> components;

  // The index of the component of that name, or -1.
  int Find(std::string_view name) const;
  // "{image: uint8[224, 224, 3], label: int64}"; "int64" for a single unnamed.
  std::string ToString() const;
  friend bool operator==(const ElementSpec&, const ElementSpec&) = default;
};

// "[224, ?, 3]"; "" for a scalar.
std::string ShapeToString(const Shape& shape);

// The product of the dimensions. REQUIRES: none is unknown.
int64_t NumItems(const Shape& shape);

// ---- many elements

inline constexpr size_t kBufferAlignment = 64;

// Immutable bytes with shared ownership. Copying a Buffer copies a pointer.
//
// Thread-safety: immutable after construction; any thread may hold copies.
class Buffer {
 public:
  Buffer() = default;
  // Views [data, data + size), kept alive by `owner`.
  Buffer(std::shared_ptr<const void> owner, const std::byte* data, size_t size)
      : owner_(std::move(owner)), data_(data), size_(size) {}

  // A 64-byte-aligned copy of the bytes.
  static Buffer CopyOf(std::span<const std::byte> bytes);

  const std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  std::span<const std::byte> span() const { return {data_, size_}; }
  const std::shared_ptr<const void>& owner() const { return owner_; }

  // The items as T. REQUIRES: data() is aligned for T (true for buffers made
  // here and for buffers from wire decoding).
  template <class T>
  std::span<const T> As() const {
    return {reinterpret_cast<const T*>(data_), size_ / sizeof(T)};
  }

  // A view of [offset, offset + size), sharing ownership.
  Buffer Slice(size_t offset, size_t size) const;

 private:
  std::shared_ptr<const void> owner_;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

// One component of a chunk, for all its rows.
//
//   uniform  every row has `shape`; items of row r are
//            [r * NumItems(shape), (r + 1) * NumItems(shape)).
//   ragged   row_shapes holds rank dims per row (int64), row_starts rows + 1
//            item indexes (int64); `shape` keeps the rank, its dims are
//            kUnknownDim where rows differ (or may).
//
// For fixed-size dtypes item k is values[k * ItemSize, …). For kBytes, offsets
// holds items + 1 int64 positions in `values`; offsets[0] and row_starts[0]
// need not be 0, so that a slice shares its parent's buffers.
struct Column {
  DType dtype = DType::kInt64;
  Shape shape;
  Buffer values;
  Buffer offsets;
  Buffer row_shapes;
  Buffer row_starts;

  bool ragged() const { return row_starts.size() > 0; }
  // The shape of row `row`: rank dims.
  Shape RowShape(size_t row) const;
  // The same without an allocation; valid as long as this column.
  std::span<const int64_t> RowDims(size_t row) const;
  // First item and number of items of a row.
  int64_t RowStart(size_t row) const;
  int64_t RowItems(size_t row) const;
  // REQUIRES: dtype == kBytes.
  std::string_view BytesAt(int64_t item) const;
  // The items of a row. REQUIRES: T is the C++ type of dtype.
  template <class T>
  std::span<const T> Items(size_t row) const {
    return values.As<T>().subspan(static_cast<size_t>(RowStart(row)),
                                  static_cast<size_t>(RowItems(row)));
  }
  // Rows [begin, end), sharing buffers.
  Column Slice(size_t begin, size_t end) const;
  // Checks the buffers' sizes, offsets and starts for `rows` rows of `spec`.
  absl::Status Validate(const ComponentSpec& spec, size_t rows) const;
};

// A uniform column over a copy of `items`, rows of `shape` one after another.
template <class T>
Column MakeColumn(std::span<const T> items, Shape shape = {}) {
  return {DTypeOf<T>(),
          std::move(shape),
          Buffer::CopyOf(std::as_bytes(items)),
          {},
          {},
          {}};
}
template <class T>
Column MakeColumn(const std::vector<T>& items, Shape shape = {}) {
  return MakeColumn(std::span<const T>(items), std::move(shape));
}
Column MakeBytesColumn(std::span<const std::string_view> items,
                       Shape shape = {});

// Elements by columns: row r of all columns is one element. Immutable; copying
// a Chunk copies pointers.
struct Chunk {
  std::shared_ptr<const ElementSpec> spec;  // one component per column
  size_t rows = 0;
  std::vector<Column> columns;

  // Rows [begin, end), sharing buffers.
  Chunk Slice(size_t begin, size_t end) const;
  // Bytes of rows [begin, end): number of items times item size; for kBytes the
  // bytes plus 8 for each string; at least 1 for each row. Depends on the
  // elements only, not on how they are cut into chunks.
  size_t ElementBytes(size_t begin, size_t end) const;
  size_t ElementBytes() const { return ElementBytes(0, rows); }
  // Column::Validate of all columns. For chunks from a network.
  absl::Status Validate() const;
};

// The rows of `chunks` in order, as one chunk (one alone is returned as is).
// REQUIRES: all have the same spec.
Chunk Concatenate(const std::vector<Chunk>& chunks);

// ---- one element

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

// ---- origin

// A record of a source that an element was made of.
struct RecordOrigin {
  std::string file;     // "" where there are none
  uint64_t record = 0;  // its number in the file, from 0
  // Records are counted from this byte of the file. Not 0 for a file without an
  // index, which is counted in blocks of 4 MiB.
  uint64_t offset = 0;
  uint64_t epoch = 0;  // the pass of the dataset's repeats, counted together
  friend bool operator==(const RecordOrigin&, const RecordOrigin&) = default;
};

// An element of a sequence, and the records that it was made of.
struct TracedElement {
  Chunk element;  // one row
  std::vector<RecordOrigin> records;
};

}  // namespace feedmill
#pragma GCC visibility pop

#endif  // FEEDMILL_ELEMENT_H_
