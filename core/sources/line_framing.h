#ifndef FEEDMILL_CORE_SOURCES_LINE_FRAMING_H_
#define FEEDMILL_CORE_SOURCES_LINE_FRAMING_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/sources/framing.h"

namespace feedmill {

// Records that are lines.
class LineFraming final : public Framing {
 public:
  enum class Lines {
    kAll,     // each "\n" ends a line; the last one may lack it
    kFilled,  // same, without empty lines (or only "\r")
    kQuoted,  // same, but "\n" in double quotes ends no line
  };
  // Options for lines that are not records.
  struct Options {
    bool first_is_header = false;
    // Lines that begin with it are no records; "": there are none. Within
    // quotes, they are part of their record.
    std::string comment{};
    uint64_t skipped_lines = 0;  // Properties::skipped_lines
  };

  explicit LineFraming(Lines lines) : LineFraming(lines, Options{}) {}
  LineFraming(Lines lines, Options options);

  Framed FindRecords(std::string_view window, bool at_end,
                     const WindowPlace& place,
                     std::vector<Extent>& records) const override;
  absl::StatusOr<RecordIndex> Find(const RandomAccessFile& file,
                                   uint64_t size) const override;

 private:
  const Lines lines_;
  const std::string comment_;
};

// True if a character other than a carriage return follows a carriage return.
inline bool HasReturnInside(std::string_view text) {
  const size_t at = text.find('\r');
  return at != text.npos && text.find_first_not_of('\r', at) != text.npos;
}
// Returns the error of a file that is one line with carriage returns inside:
// its lines end in "\r" alone.
absl::Status ReturnsAlone(const std::string& path);

// Counts a data warning if a file of lines begins as a file of another format
// does, such as a compressed file: its lines are the bytes of that file.
void NoteOtherFormat(const std::string& path, std::string_view beginning);

// Removes the '\n' of lines that were read with it (the last line may lack it)
// and closes the gaps. offsets[k + 1] is the end of line k. Returns the end of
// the last line.
size_t DropNewlines(std::byte* values, std::span<int64_t> offsets);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_LINE_FRAMING_H_
