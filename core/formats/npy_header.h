#ifndef FEEDMILL_CORE_FORMATS_NPY_HEADER_H_
#define FEEDMILL_CORE_FORMATS_NPY_HEADER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/sources/array_records.h"
#include "feedmill/element_spec.h"

namespace feedmill {

// The headers of .npy files are read up to this length.
inline constexpr size_t kNpyHeaderBytesMax = size_t{64} << 10;

// One number, text or array within an item of an array: all of the item, or a
// member of a structured dtype, "a.b" for the member b of the member a.
struct NpyMember {
  std::string name;  // empty: all of the item
  DType dtype = DType::kInt64;
  StoredAs stored = StoredAs::kNative;
  Shape shape;            // of the member itself
  size_t item_bytes = 0;  // of one number or text as it is stored
  uint64_t within = 0;    // offset in the item
  // Not empty: the dtype, which cannot be a component.
  std::string unreadable{};
};

struct NpyHeader {
  Shape shape;  // of the whole array
  bool fortran = false;
  uint64_t item_bytes = 0;
  std::vector<NpyMember> members;
  uint64_t data_offset = 0;  // of the first item
};

// Parses the header that `bytes` begin with. DataLoss says what is wrong,
// without the file's name.
absl::StatusOr<NpyHeader> ParseNpyHeader(std::string_view bytes);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_FORMATS_NPY_HEADER_H_
