#ifndef FEEDMILL_CORE_FORMATS_NPY_HEADER_H_
#define FEEDMILL_CORE_FORMATS_NPY_HEADER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/sources/array_records.h"
#include "feedmill/element.h"

namespace feedmill {

// Most bytes of the header of a .npy file.
inline constexpr size_t kNpyHeaderBytesMax = size_t{64} << 10;

// A number, text or array within an item: the whole item, or a member of a
// structured dtype. "a.b" is the member b of the member a.
struct NpyMember {
  std::string name;  // empty: the whole item
  DType dtype = DType::kInt64;
  StoredAs stored = StoredAs::kNative;
  Shape shape;            // of the member itself
  size_t item_bytes = 0;  // stored bytes of one number or text
  uint64_t within = 0;    // offset in the item
  std::string unit{};     // of a time: "M8[ns]"
  // If not empty: the dtype, which no component can have.
  std::string unreadable{};
};

struct NpyHeader {
  Shape shape;  // of the whole array
  bool fortran = false;
  uint64_t item_bytes = 0;
  std::vector<NpyMember> members;
  uint64_t data_offset = 0;  // offset of the first item
};

// Parses the header at the beginning of `bytes`. DataLoss gives the fault,
// without the file's name.
absl::StatusOr<NpyHeader> ParseNpyHeader(std::string_view bytes);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_FORMATS_NPY_HEADER_H_
