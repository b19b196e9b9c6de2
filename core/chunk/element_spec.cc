#include <algorithm>

#include "core/base/check.h"
#include "core/chunk/validity.h"
#include "feedmill/element.h"

namespace feedmill {

bool ComponentSpec::IsStatic() const {
  return std::find(shape.begin(), shape.end(), kUnknownDim) == shape.end();
}

int ElementSpec::Find(std::string_view name) const {
  for (size_t c = 0; c < components.size(); ++c) {
    if (components[c].name == name) return static_cast<int>(c);
  }
  return -1;
}

std::string ElementSpec::ToString() const {
  auto type = [](const ComponentSpec& component) {
    return std::string(TypeName(component.dtype, component.logical)) +
           ShapeToString(component.shape);
  };
  if (components.size() == 1 && components[0].name.empty()) {
    return type(components[0]);
  }
  std::string text = "{";
  const std::span all(components);
  for (size_t c = 0; c < all.size(); ++c) {
    if (IsValidity(all, c)) continue;
    if (text.size() > 1) text += ", ";
    text += all[c].name + ": " + type(all[c]);
    if (MayBeNull(all, c)) text += '?';
  }
  return text + "}";
}

std::string ShapeToString(const Shape& shape) {
  if (shape.empty()) return "";
  std::string text = "[";
  for (size_t d = 0; d < shape.size(); ++d) {
    if (d > 0) text += ", ";
    text += shape[d] == kUnknownDim ? "?" : std::to_string(shape[d]);
  }
  return text + "]";
}

// More items than any memory holds. 8 bytes for each of them still fit an
// int64, so that a ByteBudget sees the size and refuses it.
constexpr int64_t kItemsMost = int64_t{1} << 59;

int64_t NumItems(const Shape& shape) {
  int64_t items = 1;
  for (int64_t dim : shape) {
    FM_CHECK(dim >= 0);
    if (__builtin_mul_overflow(items, dim, &items) || items > kItemsMost) {
      // A later dimension may be 0.
      items = kItemsMost;
    }
  }
  return items;
}

}  // namespace feedmill
