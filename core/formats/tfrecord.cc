#include "core/sources/tfrecord.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <vector>

#include "core/base/status.h"
#include "core/formats/file_checks.h"
#include "core/formats/file_source_of.h"
#include "core/io/read_ahead.h"
#include "core/io/read_stop.h"
#include "core/sources/indexed_records.h"

namespace feedmill {
namespace {

// Bytes read at once while headers are close together.
constexpr size_t kHeaderWindowBytes = size_t{256} << 10;

// Find reads only the headers of the records. If a header behind the first
// record is damaged, the index ends with one bad record. That record begins at
// the damage and has at most kTfRecordOverheadBytes.
class TfRecordFraming final : public Framing {
 public:
  TfRecordFraming() : Framing(NumberedName(0, kProperties), kProperties) {}

  Framed FindRecords(std::string_view window, bool at_end,
                     const WindowPlace& place,
                     std::vector<Extent>& records) const override;
  absl::StatusOr<RecordIndex> Find(const RandomAccessFile& file,
                                   uint64_t size) const override;

 private:
  static constexpr Properties kProperties{.envelope = Envelope::kTfRecord};
};

Framed TfRecordFraming::FindRecords(std::string_view window, bool at_end,
                                    const WindowPlace& place,
                                    std::vector<Extent>& records) const {
  Framed framed;
  const auto bytes = std::as_bytes(std::span(window));
  while (framed.used < window.size()) {
    const auto rest = bytes.subspan(framed.used);
    if (!at_end && rest.size() < kTfRecordHeaderBytes) return framed;
    const TfRecordPlace at{place.path, place.record + records.size(),
                           place.offset + framed.used};
    // Unless the window reaches the end of the file, the length of the file is
    // unknown.
    const uint64_t left =
        at_end ? rest.size() : std::numeric_limits<uint64_t>::max();
    const auto length = ParseTfRecordHeader(rest, left, at);
    if (!length.ok()) {
      framed.error = length.status();
      return framed;
    }
    if (*length > kRecordBytesMax) {
      framed.error =
          DataLoss("{}: record {} at offset {}: {} bytes are too long",
                   place.path, at.record, at.offset, *length);
      return framed;
    }
    if (rest.size() < *length + kTfRecordOverheadBytes) return framed;
    const auto data =
        ParseTfRecord(rest.first(*length + kTfRecordOverheadBytes), at);
    if (!data.ok()) {
      framed.error = data.status();
      return framed;
    }
    records.push_back({framed.used + kTfRecordHeaderBytes, *length});
    framed.used += *length + kTfRecordOverheadBytes;
  }
  return framed;
}

absl::StatusOr<RecordIndex> TfRecordFraming::Find(const RandomAccessFile& file,
                                                  uint64_t size) const {
  const std::string& path = file.name();
  // A file system that reads ahead fetches headers within that distance
  // together, so they are not read one by one.
  const uint64_t sparse_min =
      std::max<uint64_t>(kHeaderWindowBytes / 4, file.ahead_bytes());
  ReadAhead ahead(file, 0, size);
  RecordIndex index;
  index.offsets.push_back(0);
  std::vector<std::byte> window(std::min<uint64_t>(kHeaderWindowBytes, size));
  uint64_t window_begin = 0;
  uint64_t window_end = 0;
  uint64_t offset = 0;
  while (offset < size) {
    if (offset + kTfRecordHeaderBytes > window_end) {
      FM_RETURN_IF_ERROR(ReadStop::Check(path));
      // If records are large, reads only their headers.
      const bool sparse =
          index.records() > 0 && offset / index.records() > sparse_min;
      const uint64_t want = std::min<uint64_t>(
          sparse ? kTfRecordHeaderBytes : window.size(), size - offset);
      if (!sparse) ahead.Reach(offset);
      FM_ASSIGN_OR_RETURN(const size_t got,
                          file.Read(offset, {window.data(), want}));
      if (got < want) return Shrank(path, offset + got);
      window_begin = offset;
      window_end = offset + got;
    }
    const size_t at = static_cast<size_t>(offset - window_begin);
    const size_t have = static_cast<size_t>(window_end - offset);
    const auto length =
        ParseTfRecordHeader({window.data() + at, have}, size - offset,
                            {path, index.records(), offset});
    if (!length.ok()) {
      // At the first record: this is no TFRecord file. Later: the records after
      // the damage are lost, and count as one bad record.
      if (index.records() == 0) return length.status();
      index.offsets.push_back(std::min(size, offset + kTfRecordOverheadBytes));
      break;
    }
    offset += *length + kTfRecordOverheadBytes;
    index.offsets.push_back(offset);
  }
  return index;
}

struct TfRecordFormat {
  using Options = TfRecordSource;
  static constexpr std::string_view kName = "tfrecord";
  static constexpr std::array<std::string_view, 2> kEndings = {".tfrecord",
                                                               ".tfrecords"};
  static bool Begins(std::string_view head) {
    const std::string path;
    return head.size() >= kTfRecordHeaderBytes &&
           ParseTfRecordHeader(std::as_bytes(std::span(head)),
                               std::numeric_limits<uint64_t>::max(), {path})
               .ok();
  }
  static constexpr Description kDescription = {
      .summary = "Reads TFRecord files: one unnamed bytes component a record.",
      .yaml = R"(tfrecord: "examples-*.tfrecord")",
      .element = "one unnamed bytes component",
      .errors =
          "Reading raises NotFoundError if no file matches, DataLossError for "
          "a record with a wrong checksum.",
      .example = R"(
>>> ds = fm.Dataset.tfrecord("examples.tfrecord")
>>> next(ds.parse_example({"label": "int64", "text": "bytes"}).read())
{'label': np.int64(0), 'text': b'text 0'}
)"};

  static FieldList Fields(TfRecordSource& s) {
    return {FilesField(s.files), CompressionField(s.compression, s.files),
            WindowLogField(s.zstd_window_log)};
  }
  static SourceProperties Properties(const TfRecordSource& s) {
    return {.positions =
                FilesIfCompressed(s.compression, s.files, Positions::kRecords),
            .indexed = true};
  }
  static absl::StatusOr<ElementSpec> Output(const TfRecordSource& s,
                                            std::span<const ElementSpec>) {
    FM_RETURN_IF_ERROR(CheckFiles(s.files, s.compression, s.zstd_window_log));
    return UnnamedSpec(DType::kBytes);
  }
  static std::shared_ptr<const Framing> MakeFraming(const TfRecordSource&) {
    return std::make_shared<TfRecordFraming>();
  }
  static std::unique_ptr<const RecordDecoder> MakeDecoder(
      const TfRecordSource&, const std::vector<bool>&) {
    return MakeBytesDecoder();
  }
  static absl::StatusOr<std::unique_ptr<const RecordSource>> MakeCounted(
      const TfRecordSource& s, std::shared_ptr<const Manifest> manifest,
      const std::vector<bool>&) {
    return MakeIndexedRecords(MakeFraming(s), std::move(manifest));
  }
};

}  // namespace

const SourceKind& TfRecordKind() { return FileKindOf<TfRecordFormat>(); }

}  // namespace feedmill
