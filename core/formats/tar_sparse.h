#ifndef FEEDMILL_CORE_FORMATS_TAR_SPARSE_H_
#define FEEDMILL_CORE_FORMATS_TAR_SPARSE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace feedmill {

// Number field of a tar header: octal digits, or GNU's big-endian number with
// the first bit set. Returns nullopt if the field is neither.
std::optional<uint64_t> TarNumber(std::string_view field);

// Decimal number of a pax header. Returns nullopt if the text is none.
std::optional<uint64_t> PaxNumber(std::string_view text);

// Map of a sparse tar member: the regions of the file that the archive stores.
// All other bytes of the file are zeros. Understands the format of old GNU
// headers (type 'S') and the versions 0.0, 0.1 and 1.0 of pax headers.
class TarSparseMap {
 public:
  bool used() const { return used_; }

  // Takes the regions and the size from an old GNU header. Returns true if a
  // block of more regions follows the header.
  bool AddOldHeader(std::string_view header);
  // Takes the regions of such a block. Returns true if another block follows.
  bool AddOldBlock(std::string_view block);
  // Takes a record of a pax header. Ignores records that do not concern the
  // map.
  void AddPaxRecord(std::string_view key, std::string_view value);

  // Returns the content of the file whose stored bytes are `stored`.
  // DataLoss if the map is damaged or the file is larger than a record may be.
  absl::StatusOr<std::string> Expand(std::string_view stored) const;

 private:
  struct Region {
    uint64_t offset = 0;
    uint64_t size = 0;
  };

  void AddRegions(std::string_view entries);
  static absl::StatusOr<std::vector<Region>> TakeMap(std::string_view& stored);

  bool used_ = false;
  bool damaged_ = false;
  bool map_in_data_ = false;  // pax 1.0
  std::optional<uint64_t> size_;
  std::optional<uint64_t> pax_offset_;  // waits for its size
  std::vector<Region> regions_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_FORMATS_TAR_SPARSE_H_
