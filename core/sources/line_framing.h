#ifndef FEEDMILL_CORE_SOURCES_LINE_FRAMING_H_
#define FEEDMILL_CORE_SOURCES_LINE_FRAMING_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/sources/framing.h"

namespace feedmill {

// The byte order mark that may stand before the first line of a file. It is no
// part of the line.
inline constexpr std::string_view kUtf8Mark = "\xef\xbb\xbf";

// Records that are lines.
class LineFraming final : public Framing {
 public:
  enum class Lines {
    kAll,     // each "\n" ends one; the last may lack it
    kFilled,  // the same without lines that are empty (or only "\r")
    kQuoted,  // … whose "\n" between double quotes ends none
  };
  explicit LineFraming(Lines lines, bool first_is_header = false);

  Framed FindRecords(std::string_view window, bool at_end,
                     const WindowPlace& place,
                     std::vector<Extent>& records) const override;
  absl::StatusOr<RecordIndex> Find(const RandomAccessFile& file,
                                   uint64_t size) const override;

 private:
  const Lines lines_;
};

// Lines that were read with their '\n', the last one maybe without: closes the
// gaps. offsets[k + 1] is the end of line k; returns the end of the last one.
size_t DropNewlines(std::byte* values, std::span<int64_t> offsets);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_LINE_FRAMING_H_
