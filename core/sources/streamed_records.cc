#include <algorithm>
#include <limits>
#include <list>
#include <mutex>
#include <utility>

#include "core/base/status.h"
#include "core/io/manifest_files.h"
#include "core/sources/file_heads.h"
#include "core/sources/framed_records.h"
#include "core/sources/framing.h"
#include "core/sources/record_decoder.h"
#include "core/sources/record_stream.h"

namespace feedmill {
namespace {

// Most interrupted streams that are kept; any thread may continue one.
constexpr size_t kParkedMax = 16;
// Blocks of files behind URLs are announced ahead: up to kAheadBytes, but at
// most kAheadMax of them, which are as many requests if they are small.
constexpr uint64_t kAheadBytes = uint64_t{32} << 20;
constexpr uint64_t kAheadMax = 32;
// Expected bytes after a block for its last line.
constexpr uint64_t kLineBytesAhead = uint64_t{64} << 10;

size_t RecordsAhead(const ManifestFiles& files) {
  if (!files.has_urls() || files.total() == 0) return 0;
  uint64_t bytes = 0;
  for (const ManifestFile& file : files.manifest().files) bytes += file.size;
  const uint64_t each =
      std::clamp<uint64_t>(bytes / files.total(), 1, kBlockBytes);
  return static_cast<size_t>(std::min(kAheadMax, kAheadBytes / each));
}

class StreamedRecords final : public RecordSource {
 public:
  StreamedRecords(FramedRecords records,
                  std::shared_ptr<const Manifest> manifest)
      : framing_(std::move(records.framing)),
        coding_(records.coding),
        blocks_(records.properties.positions == Positions::kBlocks),
        record_word_(records.properties.lines ? "line" : "record"),
        first_number_(records.properties.lines ? 1 : 0),
        files_(std::move(manifest)),
        records_ahead_(RecordsAhead(files_)),
        decoder_(std::move(records.decoder)),
        heads_(*framing_, coding_, *decoder_, files_) {}

  std::unique_ptr<Scratch> NewScratch() const override {
    return std::make_unique<Scratch>();
  }

  absl::StatusOr<bool> ReadBlock(uint64_t index, uint64_t row, size_t bytes_max,
                                 RecordBlock& out) const override;

  size_t records_ahead() const override { return records_ahead_; }

  void PrefetchRecords(std::span<const uint64_t> indexes) const override;

  std::string Describe(uint64_t index, uint64_t row) const override {
    const auto place = files_.Find(index);
    const std::string& path = files_.info(place.file).path;
    const uint64_t begin = place.record * kBlockBytes;
    const uint64_t number = row + first_number_;
    if (begin == 0) return fmt::format("{}: {} {}", path, record_word_, number);
    return fmt::format("{}: {} {}, counted from offset {}", path, record_word_,
                       number, begin);
  }

 private:
  // A block, or a file that is not cut into blocks, while it is read.
  struct OpenBlock {
    uint64_t index = 0;
    std::unique_ptr<RecordStream> records;
    std::shared_ptr<const RecordDecoder::Head> head;
    uint64_t end_row() const {
      return records->first_record() + records->records().size();
    }
  };

  absl::StatusOr<std::unique_ptr<OpenBlock>> Open(uint64_t index) const;
  std::unique_ptr<OpenBlock> TakeParked(uint64_t index, uint64_t row) const;
  void Park(std::unique_ptr<OpenBlock> block) const;
  // Decodes rows from `row` on, all in the block's window. Returns the bytes
  // decoded. DataLoss names the record.
  absl::StatusOr<size_t> Decode(const OpenBlock& block, uint64_t row,
                                size_t bytes_max, RecordBlock& out) const;

  const std::shared_ptr<const Framing> framing_;
  const StreamCoding coding_;
  const bool blocks_;
  const char* const record_word_;
  const uint64_t first_number_;  // lines are numbered from 1
  const ManifestFiles files_;
  const size_t records_ahead_;
  const std::unique_ptr<const RecordDecoder> decoder_;
  const FileHeads heads_;

  mutable std::mutex mutex_;
  mutable std::list<std::unique_ptr<OpenBlock>> parked_;  // newest first
};

std::unique_ptr<StreamedRecords::OpenBlock> StreamedRecords::TakeParked(
    uint64_t index, uint64_t row) const {
  const std::lock_guard lock(mutex_);
  for (auto at = parked_.begin(); at != parked_.end(); ++at) {
    const OpenBlock& block = **at;
    if (block.index != index || row < block.records->first_record() ||
        row > block.end_row()) {
      continue;
    }
    auto taken = std::move(*at);
    parked_.erase(at);
    return taken;
  }
  return nullptr;
}

void StreamedRecords::Park(std::unique_ptr<OpenBlock> block) const {
  std::list<std::unique_ptr<OpenBlock>> dropped;  // destroyed outside the lock
  const std::lock_guard lock(mutex_);
  parked_.push_front(std::move(block));
  if (parked_.size() > kParkedMax) {
    dropped.splice(dropped.begin(), parked_, std::prev(parked_.end()));
  }
}

absl::StatusOr<std::unique_ptr<StreamedRecords::OpenBlock>>
StreamedRecords::Open(uint64_t index) const {
  const auto place = files_.Find(index);
  const ManifestFile& info = files_.info(place.file);
  FM_ASSIGN_OR_RETURN(const auto opened, files_.Open(place.file));
  const uint64_t begin = blocks_ ? place.record * kBlockBytes : 0;
  const uint64_t end =
      blocks_ ? begin + kBlockBytes : std::numeric_limits<uint64_t>::max();
  // Reads from the byte before the block: if it is '\n', a line begins with the
  // block.
  const uint64_t first = begin == 0 ? 0 : begin - 1;
  auto block = std::make_unique<OpenBlock>();
  block->index = index;
  block->records = std::make_unique<RecordStream>(
      *framing_, info.path,
      MakeByteStream(coding_,
                     files_.ReadInOrder(place.file, opened, first,
                                        blocks_ ? end + kLineBytesAhead : end),
                     first, info.size, info.path),
      begin, end);
  return block;
}

// Leaves out blocks that follow the one before them in its file: reading that
// one announces them. Errors are left to the read.
void StreamedRecords::PrefetchRecords(std::span<const uint64_t> indexes) const {
  for (size_t k = 0; k < indexes.size(); ++k) {
    const auto place = files_.Find(indexes[k]);
    if (k > 0 && indexes[k] == indexes[k - 1] + 1 && place.record > 0) continue;
    const auto opened = files_.Open(place.file);
    if (!opened.ok()) return;
    if ((*opened)->ahead_bytes() == 0) continue;
    const uint64_t begin = blocks_ ? place.record * kBlockBytes : 0;
    const ByteRange range{
        begin == 0 ? 0 : begin - 1,
        std::min(kBlockBytes, files_.info(place.file).size - begin)};
    (*opened)->Prefetch({&range, 1});
  }
}

absl::StatusOr<size_t> StreamedRecords::Decode(const OpenBlock& block,
                                               uint64_t row, size_t bytes_max,
                                               RecordBlock& out) const {
  RecordStream& records = *block.records;
  const auto first = static_cast<size_t>(row - records.first_record());
  std::span<const Extent> wanted = records.records().subspan(first);
  const auto bytes_of = [&](size_t count) {
    return wanted[count - 1].begin + wanted[count - 1].size - wanted[0].begin;
  };
  // Finds the smallest count with enough bytes.
  size_t count = 1;
  for (size_t more = wanted.size() - 1; more > 0;) {
    const size_t half = more / 2;
    if (bytes_of(count + half) < bytes_max) {
      count += half + 1;
      more -= half + 1;
    } else {
      more = half;
    }
  }
  count = std::min(count, wanted.size());
  const size_t before = out.rows;
  const absl::Status status =
      decoder_->Decode(*block.head, records.window(), wanted.first(count), out);
  if (status.ok()) return bytes_of(count);
  const size_t bad = first + out.rows - before;
  out.Truncate(out.rows);
  const auto place = files_.Find(block.index);
  const bool numbered = place.record == 0 || !blocks_;
  const absl::Status located = Annotate(
      status,
      fmt::format(
          "{}: record {}at offset {}{}", files_.info(place.file).path,
          numbered ? fmt::format("{} ", records.first_record() + bad) : "",
          records.OffsetOf(bad),
          coding_.compression == Compression::kNone ? "" : " uncompressed"));
  // Damage right after the record may be the cause.
  const bool last = bad + 1 == records.records().size();
  if (!last || records.error().ok()) return located;
  return absl::Status(located.code(), fmt::format("{}; {}", ErrorText(located),
                                                  ErrorText(records.error())));
}

absl::StatusOr<bool> StreamedRecords::ReadBlock(uint64_t index, uint64_t row,
                                                size_t bytes_max,
                                                RecordBlock& out) const {
  decoder_->Reset(out);
  out.ends_block = false;
  std::unique_ptr<OpenBlock> block = TakeParked(index, row);
  if (block == nullptr) {
    FM_ASSIGN_OR_RETURN(block, Open(index));
  }
  RecordStream& records = *block->records;
  size_t left = std::max<size_t>(bytes_max, 1);
  while (left > 0) {
    const uint64_t next = row + out.rows;
    while (next >= block->end_row()) {
      absl::StatusOr<bool> more = false;
      if (records.error().ok()) more = records.Next();
      FM_RETURN_IF_ERROR(more.status());
      if (!*more) {
        out.error = records.error();
        out.ends_block = true;
        return false;
      }
    }
    if (block->head == nullptr) {
      auto head = heads_.Get(files_.Find(index).file, records.header());
      if (head.status().code() == absl::StatusCode::kDataLoss) {
        out.error = head.status();
        out.ends_block = true;
        return false;
      }
      FM_RETURN_IF_ERROR(head.status());
      block->head = *std::move(head);
    }
    const auto decoded = Decode(*block, next, left, out);
    out.error = decoded.status();
    if (!decoded.ok()) {
      Park(std::move(block));  // a later call may need its next records
      return false;
    }
    left -= std::min(left, *decoded);
    if (row + out.rows == block->end_row() && records.finished() &&
        records.error().ok()) {
      return false;
    }
  }
  Park(std::move(block));
  return true;
}

}  // namespace

absl::StatusOr<std::unique_ptr<const RecordSource>> MakeStreamedRecords(
    FramedRecords records, std::shared_ptr<const Manifest> manifest) {
  const bool blocks = records.properties.positions == Positions::kBlocks;
  for (const ManifestFile& file : manifest->files) {
    if (file.records == (blocks ? BlocksOf(file.size) : 1)) continue;
    return DataLoss("the manifest does not count {} by {}", file.path,
                    blocks ? "blocks" : "files");
  }
  return std::make_unique<StreamedRecords>(std::move(records),
                                           std::move(manifest));
}

}  // namespace feedmill
