#include "core/sources/record_stream.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/base/status.h"
#include "core/base/utf8.h"
#include "core/io/file_errors.h"
#include "core/sources/line_framing.h"

namespace feedmill {
namespace {

// Small enough to stay in the cache while records are found and copied.
constexpr size_t kWindowBytes = size_t{128} << 10;
// Bytes of one read after a block's end, for the rest of its last line.
constexpr size_t kBeyondBytes = size_t{4} << 10;

}  // namespace

RecordStream::RecordStream(const Framing& framing, std::string path,
                           std::unique_ptr<ByteStream> bytes, uint64_t begin,
                           uint64_t end)
    : framing_(framing),
      path_(std::move(path)),
      bytes_(std::move(bytes)),
      begin_(begin),
      end_(end),
      offset_(begin == 0 ? 0 : begin - 1),
      wants_header_(framing.properties().first_is_header && begin == 0) {}

// Reads up to `bytes` more bytes into the window.
absl::Status RecordStream::Fill(size_t bytes) {
  if (at_end_ || !damage_.ok()) return absl::OkStatus();
  const size_t before = window_.size();
  std::byte* const at = window_.Extend(bytes);
  absl::StatusOr<size_t> got = bytes_->Read({at, bytes});
  window_.Truncate(before + (got.ok() ? *got : 0));
  if (got.ok() && *got == bytes) return absl::OkStatus();
  if (got.ok()) {  // at the end, or before damage
    std::byte one;
    got = bytes_->Read({&one, 1});
    if (got.ok()) {
      at_end_ = true;
      return absl::OkStatus();
    }
  }
  if (got.status().code() != absl::StatusCode::kDataLoss) return got.status();
  damage_ = NameFile(got.status(), path_);
  return absl::OkStatus();
}

// Skips everything before the first record.
absl::Status RecordStream::Begin() {
  begun_ = true;
  // Room for the rest of the previous record, unless it is long.
  window_.Reserve(kWindowBytes + kWindowBytes / 8);
  if (begin_ > 0) {  // skip the rest of a line of the previous block
    while (true) {
      const size_t before = window_.size();
      FM_RETURN_IF_ERROR(Fill(kWindowBytes));
      const std::string_view more = window().substr(before);
      const size_t newline = more.find('\n');
      if (newline != std::string_view::npos) {
        used_ = before + newline + 1;
        break;
      }
      used_ = window_.size();
      if (more.empty() || offset_ + used_ >= end_) break;
      DropUsed();
    }
    done_ = offset_ + used_ >= end_;
    return absl::OkStatus();
  }
  for (uint64_t left = framing_.properties().header_bytes; left > 0;) {
    FM_RETURN_IF_ERROR(Fill(std::min<uint64_t>(left, kWindowBytes)));
    if (window_.size() == 0) {
      error_ = !damage_.ok() ? damage_
                             : DataLoss(
                                   "{}: the file ends inside its header "
                                   "of {} bytes",
                                   path_, framing_.properties().header_bytes);
      done_ = true;
      return absl::OkStatus();
    }
    left -= window_.size();
    used_ = window_.size();
    DropUsed();
  }
  FM_RETURN_IF_ERROR(PassMark());
  return PassLines();
}

// Passes over the lines that are left out at the beginning of a file.
absl::Status RecordStream::PassLines() {
  for (uint64_t left = framing_.properties().skipped_lines;
       left > 0 && !done_;) {
    const size_t newline = window().find('\n', used_);
    if (newline != std::string_view::npos) {
      used_ = newline + 1;
      --left;
      if (offset_ + used_ <= kBlockBytes) continue;
      error_ = DataLoss(
          "{}: the {} lines that are left out at its beginning take more than "
          "4 MiB",
          path_, framing_.properties().skipped_lines);
      done_ = true;
      break;
    }
    DropUsed();
    const size_t before = window_.size();
    FM_RETURN_IF_ERROR(Fill(kWindowBytes));
    if (window_.size() > before && offset_ + before <= kBlockBytes) continue;
    // The file has no more lines.
    used_ = window_.size();
    if (window_.size() == before) break;
  }
  DropUsed();
  return absl::OkStatus();
}

// Skips a UTF-8 byte order mark at the beginning of a file of lines, and
// rejects UTF-16 ones.
absl::Status RecordStream::PassMark() {
  if (!framing_.properties().text) return absl::OkStatus();
  // Lines that are not decoded may have any encoding.
  const bool decoded =
      framing_.properties().envelope != Framing::Envelope::kNewline;
  FM_RETURN_IF_ERROR(Fill(kCompressionBytes));
  NoteOtherFormat(path_, window());
  if (window().starts_with(kUtf8Mark)) {
    used_ = kUtf8Mark.size();
    DropUsed();
  } else if (decoded && (window().starts_with("\xff\xfe") ||
                         window().starts_with("\xfe\xff"))) {
    error_ = DataLoss(
        "{}: it is UTF-16 text; write `encoding: utf-16`, or convert it to "
        "UTF-8, as with `iconv -f utf16 -t utf8`",
        path_);
    done_ = true;
  }
  return absl::OkStatus();
}

void RecordStream::DropUsed() {
  const size_t left = window_.size() - used_;
  if (used_ > 0 && left > 0) {
    std::memmove(window_.data(), window_.data() + used_, left);
  }
  window_.Truncate(left);
  offset_ += used_;
  used_ = 0;
}

void RecordStream::TakeHeader() {
  header_ = window().substr(records_[0].begin, records_[0].size);
  records_.erase(records_.begin());
  wants_header_ = false;
}

void RecordStream::CutAtEnd() {
  while (!records_.empty() && offset_ + records_.back().begin >= end_) {
    records_.pop_back();
    done_ = true;
  }
  if (offset_ + used_ >= end_) done_ = true;
}

// Refuses a file of undecoded lines that is one line with carriage returns.
void RecordStream::CheckLineEnds() {
  if (framing_.properties().envelope != Framing::Envelope::kNewline ||
      !at_end_ || begin_ > 0 || first_record_ > 0 || records_.size() != 1) {
    return;
  }
  const Extent& line = records_[0];
  const bool ended = line.begin + line.size < window_.size();
  if (ended || !HasReturnInside(window().substr(line.begin))) return;
  records_.clear();
  error_ = ReturnsAlone(path_);
}

// Reads the bytes after the last record, to detect damage of compressed data
// there.
absl::Status RecordStream::PassRest() {
  while (!at_end_ && damage_.ok()) {
    used_ = window_.size();
    DropUsed();
    FM_RETURN_IF_ERROR(Fill(kWindowBytes));
  }
  error_ = damage_;
  done_ = true;
  return absl::OkStatus();
}

absl::StatusOr<bool> RecordStream::Next() {
  first_record_ += records_.size();
  records_.clear();
  if (!begun_) FM_RETURN_IF_ERROR(Begin());
  if (done_) return false;
  DropUsed();
  size_t wanted = kWindowBytes;
  while (true) {
    if (rest_is_ignored_) {
      FM_RETURN_IF_ERROR(PassRest());
      return false;
    }
    const uint64_t window_end = offset_ + window_.size();
    const size_t more =
        window_end < end_
            ? static_cast<size_t>(std::min<uint64_t>(wanted, end_ - window_end))
            : std::min(wanted, std::max(kBeyondBytes, window_.size()));
    FM_RETURN_IF_ERROR(Fill(more));
    const Framed framed = framing_.FindRecords(
        window(), at_end_, {path_, first_record_, offset_}, records_);
    used_ = framed.used;
    error_ = framed.error;
    rest_is_ignored_ = framed.ended;
    CheckLineEnds();
    if (wants_header_ && !records_.empty()) TakeHeader();
    CutAtEnd();
    if (at_end_ || !error_.ok()) done_ = true;
    if (!records_.empty()) return true;
    if (done_) return false;
    if (!damage_.ok()) {
      error_ = damage_;
      done_ = true;
      return false;
    }
    if (window_.size() - used_ > kRecordBytesMax) {
      error_ = DataLoss("{}: a record longer than {} bytes at offset {}", path_,
                        kRecordBytesMax, offset_ + used_);
      done_ = true;
      return false;
    }
    DropUsed();
    wanted = std::max(kWindowBytes, window_.size());
  }
}

}  // namespace feedmill
