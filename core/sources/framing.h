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

// Block size of lines that no step needs to count. A line belongs to the block
// in which it begins.
inline constexpr uint64_t kBlockBytes = uint64_t{4} << 20;
inline constexpr uint64_t BlocksOf(uint64_t file_size) {
  return file_size / kBlockBytes + (file_size % kBlockBytes != 0);
}

// A longer record is an error, so that it cannot exhaust memory.
inline constexpr uint64_t kRecordBytesMax = uint64_t{1} << 30;

// The place of a record's data in a window: a line without its end, or the data
// of a TFRecord.
struct Extent {
  size_t begin = 0;
  size_t size = 0;
};

// The place of a window in its file, for errors.
struct WindowPlace {
  const std::string& path;
  uint64_t record = 0;  // number of the window's first record
  uint64_t offset = 0;  // of the window's first byte
};

struct Framed {
  size_t used = 0;     // where the first incomplete record begins
  absl::Status error;  // of the record after the last found one
  bool ended = false;  // no record follows: the rest of the file is ignored
};

// The layout of records in a file. As a RecordFinder, it finds all records of a
// file.
//
// Thread-safety: immutable; any thread.
class Framing : public RecordFinder {
 public:
  // Bytes that an index counts as part of a record but that are not its data.
  enum class Envelope {
    kNone,      // none, or known to FindRecords only
    kNewline,   // "\n" at the end; the last record may lack it
    kTfRecord,  // length and checksums
  };
  struct Properties {
    Envelope envelope = Envelope::kNone;
    uint64_t header_bytes = 0;  // skipped at the beginning of each file
    // Bytes of each record before the Extent that FindRecords returns. If their
    // number varies, the Extent includes them.
    uint64_t prefix_bytes = 0;
    bool first_is_header = false;  // the first record names the columns
    // Text: a byte order mark before the first line is skipped.
    bool text = false;
    // Lines that are left out at the beginning of each file, before a header.
    // They end within the first kBlockBytes.
    uint64_t skipped_lines = 0;
  };

  const Properties& properties() const { return properties_; }

  // Appends the complete records of `window`, which begins at the start of a
  // record. `at_end`: the file ends with the window.
  virtual Framed FindRecords(std::string_view window, bool at_end,
                             const WindowPlace& place,
                             std::vector<Extent>& records) const = 0;

  // Reads the whole file and finds its records with FindRecords.
  absl::StatusOr<RecordIndex> Find(const RandomAccessFile& file,
                                   uint64_t size) const override;

 protected:
  // `name`: see RecordFinder.
  Framing(std::string name, const Properties& properties)
      : RecordFinder(std::move(name)), properties_(properties) {}

  // Returns the name of a framing from the time when framings were numbers.
  // Existing indexes have these names.
  static std::string NumberedName(uint64_t number, const Properties& properties,
                                  uint64_t record_bytes = 0,
                                  uint64_t footer_bytes = 0);
  // Returns the error that the file ends at `offset`, before its known size.
  static absl::Status Shrank(const std::string& path, uint64_t offset);

 private:
  const Properties properties_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_FRAMING_H_
