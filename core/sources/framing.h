#ifndef FEEDMILL_CORE_SOURCES_FRAMING_H_
#define FEEDMILL_CORE_SOURCES_FRAMING_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/io/record_index.h"

namespace feedmill {

// Lines are read by blocks of this size where no step needs them to be counted;
// a line belongs to the block where it begins.
inline constexpr uint64_t kBlockBytes = uint64_t{4} << 20;
inline constexpr uint64_t BlocksOf(uint64_t file_size) {
  return file_size / kBlockBytes + (file_size % kBlockBytes != 0);
}

// Longer records are an error instead of an empty machine.
inline constexpr uint64_t kRecordBytesMax = uint64_t{1} << 30;

// The place of a record in a window: what is decoded of it (a line without its
// end, the data of a TFRecord).
struct Extent {
  size_t begin = 0;
  size_t size = 0;
};

// The place of a window in its file, for errors.
struct WindowPlace {
  const std::string& path;
  uint64_t record = 0;  // the number of its first record
  uint64_t offset = 0;  // of its first byte
};

struct Framed {
  size_t used = 0;     // the first record that is not whole begins there
  absl::Status error;  // about the record after the last that was found
  bool ended = false;  // no record follows: the rest of the file is ignored
};

// The order in which the records of a file follow one another. As a
// RecordFinder, it finds all records of a file.
//
// Thread-safety: immutable; any thread.
class Framing : public RecordFinder {
 public:
  // The bytes that an index counts to a record and that are none of its data.
  enum class Envelope {
    kNone,      // none, or only FindRecords knows them
    kNewline,   // "\n" at the end, which the last one may lack
    kTfRecord,  // length and checksums
  };
  struct Properties {
    Envelope envelope = Envelope::kNone;
    uint64_t header_bytes = 0;  // left out at the beginning of each file
    // Bytes of each record before the Extent that FindRecords finds. Where they
    // are not as many for each record, the Extent begins with them.
    uint64_t prefix_bytes = 0;
    bool first_is_header = false;  // the first record names the columns
    // Text: a byte order mark before the first line is left out.
    bool text = false;
  };

  const Properties& properties() const { return properties_; }

  // Appends the whole records of `window`, which begins where one may begin.
  // `at_end`: the file ends with the window.
  virtual Framed FindRecords(std::string_view window, bool at_end,
                             const WindowPlace& place,
                             std::vector<Extent>& records) const = 0;

  // Reads the file from its beginning to its end with FindRecords.
  absl::StatusOr<RecordIndex> Find(const RandomAccessFile& file,
                                   uint64_t size) const override;

 protected:
  // `name`: that of a RecordFinder.
  Framing(std::string name, const Properties& properties)
      : RecordFinder(std::move(name)), properties_(properties) {}

  // The name of a framing that feedmill had when framings were numbers; kept
  // indexes are found by it.
  static std::string NumberedName(uint64_t number, const Properties& properties,
                                  uint64_t record_bytes = 0,
                                  uint64_t footer_bytes = 0);
  // An error of Find: the file ends at `offset`, before its known size.
  static absl::Status Shrank(const std::string& path, uint64_t offset);

 private:
  const Properties properties_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_FRAMING_H_
