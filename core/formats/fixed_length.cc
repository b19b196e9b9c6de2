#include <span>
#include <vector>

#include "core/base/status.h"
#include "core/formats/file_checks.h"
#include "core/formats/file_source_of.h"
#include "core/sources/array_records.h"

namespace feedmill {
namespace {

constexpr int64_t kFixedBytesMax = int64_t{1} << 30;

// Framing of records of equal length between a header and a footer.
class FixedFraming final : public Framing {
 public:
  explicit FixedFraming(const FixedLengthSource& source)
      : Framing(NumberedName(4, PropertiesOf(source),
                             static_cast<uint64_t>(source.record_bytes),
                             static_cast<uint64_t>(source.footer_bytes)),
                PropertiesOf(source)),
        record_bytes_(static_cast<uint64_t>(source.record_bytes)),
        footer_bytes_(static_cast<uint64_t>(source.footer_bytes)) {}

  Framed FindRecords(std::string_view window, bool at_end,
                     const WindowPlace& place,
                     std::vector<Extent>& records) const override;

 private:
  static Properties PropertiesOf(const FixedLengthSource& source) {
    return {.header_bytes = static_cast<uint64_t>(source.header_bytes)};
  }

  const uint64_t record_bytes_;
  const uint64_t footer_bytes_;
};

Framed FixedFraming::FindRecords(std::string_view window, bool at_end,
                                 const WindowPlace& place,
                                 std::vector<Extent>& records) const {
  Framed framed;
  while (window.size() - framed.used >= record_bytes_ + footer_bytes_) {
    records.push_back({framed.used, record_bytes_});
    framed.used += record_bytes_;
  }
  if (at_end && window.size() - framed.used != footer_bytes_) {
    framed.error = DataLoss(
        "{}: record {} at offset {}: the file ends inside it (records of {} "
        "bytes, a footer of {})",
        place.path, place.record + records.size(), place.offset + framed.used,
        record_bytes_, footer_bytes_);
  } else if (at_end) {
    framed.used = window.size();
  }
  return framed;
}

// Returns the records of a file as one array of byte strings.
absl::StatusOr<std::vector<FileArray>> FixedArrays(
    const FixedLengthSource& source, const std::string& path, uint64_t size) {
  const auto around =
      static_cast<uint64_t>(source.header_bytes + source.footer_bytes);
  const auto record = static_cast<uint64_t>(source.record_bytes);
  if (size < around || (size - around) % record != 0) {
    return DataLoss(
        "{}: {} bytes are not a header and footer of {} and whole records of "
        "{}",
        path, size, around, record);
  }
  FileArray array;
  array.dtype = DType::kBytes;
  array.rows = (size - around) / record;
  array.row_bytes = record;
  array.offset = static_cast<uint64_t>(source.header_bytes);
  return std::vector<FileArray>{array};
}

struct FixedLengthFormat {
  using Options = FixedLengthSource;
  static constexpr std::string_view kName = "fixed_length";
  static constexpr Description kDescription = {
      .summary =
          "Reads records of record_bytes bytes: one unnamed bytes component "
          "each.",
      .yaml = "fixed_length: {files: records.bin, record_bytes: 12}",
      .element = "one unnamed bytes component",
      .errors =
          "Reading raises NotFoundError if no file matches, DataLossError for "
          "a file whose size does not fit.",
      .example = R"(
>>> list(fm.Dataset.fixed_length("records.bin", record_bytes=4, header_bytes=4).read())
[b'aaaa', b'bbbb', b'cccc']
)"};

  static FieldList Fields(FixedLengthSource& s) {
    return {FilesField(s.files),
            CompressionField(s.compression, s.files),
            WindowLogField(s.zstd_window_log),
            {"record_bytes", &s.record_bytes, Field::kRequired,
             "Bytes of a record."},
            {"header_bytes", &s.header_bytes, Field::kOptional,
             "Bytes to leave out at the beginning of each file."},
            {"footer_bytes", &s.footer_bytes, Field::kOptional,
             "Bytes to leave out at the end of each file."}};
  }
  static SourceProperties Properties(const FixedLengthSource& s) {
    return {.positions =
                FilesIfCompressed(s.compression, s.files, Positions::kRecords)};
  }
  static absl::StatusOr<ElementSpec> Output(const FixedLengthSource& s,
                                            std::span<const ElementSpec>) {
    FM_RETURN_IF_ERROR(CheckFiles(s.files, s.compression, s.zstd_window_log));
    if (s.record_bytes < 1 || s.record_bytes > kFixedBytesMax) {
      return InvalidArgument("record_bytes must be 1 to {}, it is {}",
                             kFixedBytesMax, s.record_bytes);
    }
    for (const int64_t bytes : {s.header_bytes, s.footer_bytes}) {
      if (bytes < 0 || bytes > kFixedBytesMax) {
        return InvalidArgument(
            "header_bytes and footer_bytes must be 0 to {}, one is {}",
            kFixedBytesMax, bytes);
      }
    }
    return UnnamedSpec(DType::kBytes);
  }
  static std::shared_ptr<const Framing> MakeFraming(
      const FixedLengthSource& s) {
    return std::make_shared<FixedFraming>(s);
  }
  static std::unique_ptr<const RecordDecoder> MakeDecoder(
      const FixedLengthSource&, const std::vector<bool>&) {
    return MakeBytesDecoder();
  }
  static absl::StatusOr<uint64_t> CountRecords(const FixedLengthSource& s,
                                               const RandomAccessFile& file,
                                               uint64_t size) {
    FM_ASSIGN_OR_RETURN(const auto arrays, FixedArrays(s, file.name(), size));
    return arrays[0].rows;
  }
  static absl::StatusOr<std::unique_ptr<const RecordSource>> MakeCounted(
      const FixedLengthSource& s, std::shared_ptr<const Manifest> manifest,
      const std::vector<bool>& live) {
    return MakeArrayRecords(
        [s](const RandomAccessFile& file, uint64_t size) {
          return FixedArrays(s, file.name(), size);
        },
        live, std::move(manifest));
  }
};

}  // namespace

const SourceKind& FixedLengthKind() { return FileKindOf<FixedLengthFormat>(); }

}  // namespace feedmill
