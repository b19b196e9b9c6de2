#ifndef FEEDMILL_CORE_SOURCES_RECORD_UNFRAMER_H_
#define FEEDMILL_CORE_SOURCES_RECORD_UNFRAMER_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "core/io/manifest_files.h"
#include "core/sources/framing.h"

namespace feedmill {

// Extracts and checks the data of records that an index found. Immutable; any
// thread.
class RecordUnframer {
 public:
  // Both arguments must outlive this object.
  RecordUnframer(const Framing& framing, const ManifestFiles& files)
      : framing_(framing), files_(files) {}

  // Bytes of a record that are not its data.
  uint64_t overhead() const;

  // Returns the data without TFRecord's header and checksums, or without the
  // line's end. DataLoss if it is bad.
  absl::StatusOr<std::span<const std::byte>> DataOf(
      std::span<const std::byte> record, size_t file, uint64_t number,
      uint64_t offset) const;

 private:
  const Framing& framing_;
  const ManifestFiles& files_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_RECORD_UNFRAMER_H_
