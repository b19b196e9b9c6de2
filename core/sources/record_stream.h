#ifndef FEEDMILL_CORE_SOURCES_RECORD_STREAM_H_
#define FEEDMILL_CORE_SOURCES_RECORD_STREAM_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/chunk/buffer_builder.h"
#include "core/io/byte_stream.h"
#include "core/sources/framing.h"
#include "feedmill/element.h"

namespace feedmill {

// Reads the records of a file, or of a part of it, window by window. Holds one
// window, which grows to the longest record. Not thread-safe.
class RecordStream {
 public:
  // `framing` must outlive this object. `bytes` begins at the beginning of the
  // file, and all records are read. For lines, it may begin one byte before
  // `begin`; then the lines that begin in [begin, end) are read.
  RecordStream(const Framing& framing, std::string path,
               std::unique_ptr<ByteStream> bytes, uint64_t begin = 0,
               uint64_t end = std::numeric_limits<uint64_t>::max());

  // Advances to the next records; false if there are none. An error Status
  // concerns this machine only. Bad data is error(), about the record after the
  // last one of the window.
  absl::StatusOr<bool> Next();

  std::string_view window() {
    return {reinterpret_cast<char*>(window_.data()), window_.size()};
  }
  std::span<const Extent> records() const { return records_; }
  uint64_t first_record() const { return first_record_; }
  uint64_t OffsetOf(size_t record) const {
    return offset_ + records_[record].begin;
  }
  const absl::Status& error() const { return error_; }
  bool finished() const { return done_; }
  // The first record of the file, if the framing has a header and the stream
  // has read it from the file's beginning.
  const std::string& header() const { return header_; }

 private:
  absl::Status Fill(size_t bytes);
  absl::Status Begin();
  absl::Status PassMark();
  absl::Status PassLines();
  absl::Status PassRest();
  void DropUsed();
  void TakeHeader();
  void CutAtEnd();
  void CheckLineEnds();

  const Framing& framing_;
  const std::string path_;
  const std::unique_ptr<ByteStream> bytes_;
  const uint64_t begin_;
  const uint64_t end_;

  BufferBuilder window_;
  uint64_t offset_ = 0;  // of the window's first byte, uncompressed
  size_t used_ = 0;
  std::vector<Extent> records_;
  uint64_t first_record_ = 0;
  std::string header_;
  absl::Status damage_;  // of the bytes after the window
  absl::Status error_;
  bool begun_ = false;
  bool at_end_ = false;
  bool done_ = false;
  bool rest_is_ignored_ = false;
  bool wants_header_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_RECORD_STREAM_H_
