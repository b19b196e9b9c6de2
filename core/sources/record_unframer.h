#ifndef FEEDMILL_CORE_SOURCES_RECORD_UNFRAMER_H_
#define FEEDMILL_CORE_SOURCES_RECORD_UNFRAMER_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "core/io/manifest_files.h"
#include "core/sources/framing.h"

namespace feedmill {

// Takes the data out of records that an index found in their file, and checks
// it. Immutable; any thread.
class RecordUnframer {
 public:
  // Both must outlive it.
  RecordUnframer(const Framing& framing, const ManifestFiles& files)
      : framing_(framing), files_(files) {}

  // Bytes of a record that are not its data.
  uint64_t overhead() const;

  // The data: without what TFRecord puts around it, or the line's end. DataLoss
  // if it is bad.
  absl::StatusOr<std::span<const std::byte>> DataOf(
      std::span<const std::byte> record, size_t file, uint64_t number,
      uint64_t offset) const;

 private:
  const Framing& framing_;
  const ManifestFiles& files_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_RECORD_UNFRAMER_H_
