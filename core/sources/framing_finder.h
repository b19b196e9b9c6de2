#ifndef FEEDMILL_CORE_SOURCES_FRAMING_FINDER_H_
#define FEEDMILL_CORE_SOURCES_FRAMING_FINDER_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "core/io/record_index.h"
#include "core/sources/framing.h"

namespace feedmill {

// Finds the records of a framing. Of TFRecord files only the headers are read.
// A TFRecord file that is damaged behind its first record has one bad record
// more: what is left of it, of which only the beginning counts.
class FramingFinder final : public RecordFinder {
 public:
  explicit FramingFinder(const Framing& framing);

  absl::StatusOr<RecordIndex> Find(const RandomAccessFile& file,
                                   uint64_t size) const override;

 private:
  const Framing framing_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_FRAMING_FINDER_H_
