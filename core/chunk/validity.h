#ifndef FEEDMILL_CORE_CHUNK_VALIDITY_H_
#define FEEDMILL_CORE_CHUNK_VALIDITY_H_

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "feedmill/element.h"

// A component "n" that may be null is followed by a bool component "valid(n)",
// its validity. Where that is false, "n" is null, and its value is 0 or empty
// in the records of a source.

namespace feedmill {

// Returns "valid(n)".
inline std::string ValidityName(std::string_view name) {
  return "valid(" + std::string(name) + ")";
}

// True for "valid(…)" of any component.
inline bool IsValidityName(std::string_view name) {
  return name.starts_with("valid(") && name.ends_with(')');
}

// True if `name` is the validity of a component `of`.
inline bool IsValidityOf(std::string_view name, std::string_view of) {
  constexpr std::string_view kBegin = "valid(";
  return name.size() == kBegin.size() + of.size() + 1 && name.back() == ')' &&
         name.starts_with(kBegin) &&
         name.substr(kBegin.size(), of.size()) == of;
}

// True if field or component c may be null: the next one is its validity.
template <class Field>
bool MayBeNull(std::span<const Field> fields, size_t c) {
  return c + 1 < fields.size() && fields[c + 1].dtype == DType::kBool &&
         IsValidityOf(fields[c + 1].name, fields[c].name);
}

// True if component c is the validity of the component before it.
template <class Field>
bool IsValidity(std::span<const Field> fields, size_t c) {
  return c > 0 && MayBeNull(fields, c - 1);
}

// Returns the index of the validity of the component `name`, or -1.
inline int FindValidity(const ElementSpec& spec, std::string_view name) {
  const int found = spec.Find(name);
  return found >= 0 && MayBeNull(std::span(spec.components),
                                 static_cast<size_t>(found))
             ? found + 1
             : -1;
}

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CHUNK_VALIDITY_H_
