#ifndef FEEDMILL_CORE_SOURCES_FRAMING_H_
#define FEEDMILL_CORE_SOURCES_FRAMING_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "core/dataset/graph.h"

namespace feedmill {

// How the records of a file stand one after the other.
struct Framing {
  enum class Kind {
    kTfRecords,
    kLines,        // each "\n" ends one; the last may lack it
    kFilledLines,  // the same without lines that are empty (or only "\r")
    kQuotedLines,  // … but not those between double quotes
    kFixed,
    kTarGroups,  // members of one key (tar.h)
  };
  Kind kind = Kind::kLines;
  uint64_t record_bytes = 0;     // kFixed
  uint64_t footer_bytes = 0;     // kFixed: what stands after the last
  uint64_t header_bytes = 0;     // kFixed: … and before the first
  bool first_is_header = false;  // the first record has the columns' names

  friend auto operator<=>(const Framing&, const Framing&) = default;
};

// How the records of a source of files stand in them. REQUIRES: it is one of
// records: not a range, images or npy.
Framing FramingOf(const Source& source);

// The byte order mark that may stand before the first line of a file. It is no
// part of the line.
inline constexpr std::string_view kUtf8Mark = "\xef\xbb\xbf";

// Lines are read by blocks of this size where no step needs them to be counted;
// a line belongs to the block where it begins.
inline constexpr uint64_t kBlockBytes = uint64_t{4} << 20;
inline constexpr uint64_t BlocksOf(uint64_t file_size) {
  return file_size / kBlockBytes + (file_size % kBlockBytes != 0);
}

// Longer records are an error instead of an empty machine.
inline constexpr uint64_t kRecordBytesMax = uint64_t{1} << 30;

// A record in a window: what is decoded of it (a line without its end, the data
// of a TFRecord).
struct Extent {
  size_t begin = 0;
  size_t size = 0;
};

// Where a window stands, for errors.
struct WindowPlace {
  const std::string& path;
  uint64_t record = 0;  // the number of its first record
  uint64_t offset = 0;  // of its first byte
};

struct Framed {
  size_t used = 0;     // the first record that is not whole begins there
  absl::Status error;  // about the record after the last that was found
};

// Appends the whole records of `window`, which begins where one may begin.
// `at_end`: the file ends with the window.
Framed FindRecords(const Framing& framing, std::string_view window, bool at_end,
                   const WindowPlace& place, std::vector<Extent>& records);

// Lines that were read with their '\n', the last one maybe without: closes the
// gaps. offsets[k + 1] is where line k ends; returns where the last one does.
size_t DropNewlines(std::byte* values, std::span<int64_t> offsets);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_FRAMING_H_
