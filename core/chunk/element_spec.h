#ifndef FEEDMILL_CORE_CHUNK_ELEMENT_SPEC_H_
#define FEEDMILL_CORE_CHUNK_ELEMENT_SPEC_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/chunk/dtype.h"

namespace feedmill {

// A dimension that is not known before the data is seen.
inline constexpr int64_t kUnknownDim = -1;

using Shape = std::vector<int64_t>;

// What is known of one component of an element before any data is read.
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

#endif  // FEEDMILL_CORE_CHUNK_ELEMENT_SPEC_H_
