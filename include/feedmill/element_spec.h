#ifndef FEEDMILL_ELEMENT_SPEC_H_
#define FEEDMILL_ELEMENT_SPEC_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

// Exported from libfeedmill.so.
#pragma GCC visibility push(default)
namespace feedmill {

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
};

// Bytes of one item; 0 for kBytes.
size_t ItemSize(DType dtype);

// NumPy's name: "bool", "int64", "float32", …; "bytes" for kBytes.
std::string_view DTypeName(DType dtype);
std::optional<DType> DTypeFromName(std::string_view name);
// True if `code` is one of the values above; for data from outside.
bool IsDTypeCode(uint8_t code);

bool IsInteger(DType dtype);  // without bool
bool IsSigned(DType dtype);   // signed integers
bool IsFloat(DType dtype);

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

  bool IsStatic() const;  // no unknown dimension
  friend bool operator==(const ComponentSpec&, const ComponentSpec&) = default;
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

}  // namespace feedmill
#pragma GCC visibility pop

#endif  // FEEDMILL_ELEMENT_SPEC_H_
