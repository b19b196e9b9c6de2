#include "core/formats/mds_shard.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/little_endian.h"
#include "core/base/status.h"
#include "core/base/utf8.h"
#include "core/sources/framing.h"
#include "core/sources/record_decoder.h"

namespace feedmill {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kShardBytesMax = uint64_t{1} << 32;
constexpr uint64_t kConfigBytesMax = uint64_t{16} << 20;
constexpr size_t kColumnsMax = 10'000;
constexpr uint64_t kHeadBytesAhead = uint64_t{64} << 10;

// Returns the end of the table of offsets for `samples` samples.
uint64_t TableEnd(uint64_t samples) { return 4 + 4 * (samples + 1); }

absl::StatusOr<std::vector<MdsColumn>> ParseColumns(std::string_view text) {
  if (!IsUtf8(text)) {
    return DataLoss("its description of columns is not UTF-8, as JSON must be");
  }
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto list = [&](const char* key) {
    const auto found = json.find(key);
    return found == json.end() || !found->is_array() ? Json::array() : *found;
  };
  if (!json.is_object()) {
    return DataLoss("its description of columns is no JSON object");
  }
  const Json names = list("column_names");
  const Json encodings = list("column_encodings");
  const Json sizes = list("column_sizes");
  if (names.empty() || names.size() != encodings.size() ||
      names.size() != sizes.size() || names.size() > kColumnsMax) {
    return DataLoss("its description of columns is damaged");
  }
  std::vector<MdsColumn> columns;
  for (size_t c = 0; c < names.size(); ++c) {
    if (!names[c].is_string() || !encodings[c].is_string() ||
        !(sizes[c].is_null() || sizes[c].is_number_unsigned())) {
      return DataLoss("its description of column {} is damaged", c);
    }
    MdsColumn& column = columns.emplace_back();
    column.name = names[c].get<std::string>();
    column.encoding = encodings[c].get<std::string>();
    if (!sizes[c].is_null()) column.size = sizes[c].get<uint64_t>();
  }
  return columns;
}

// True if `bytes` begin an uncompressed shard. Its first sample is behind the
// table of offsets and the JSON after it, and not beyond the end.
bool IsPlain(std::string_view bytes, uint64_t size) {
  if (bytes.size() < 8) return false;
  const uint64_t end = TableEnd(LoadLittleEndian<uint32_t>(bytes, 0));
  return end <= LoadLittleEndian<uint32_t>(bytes, 4) &&
         LoadLittleEndian<uint32_t>(bytes, 4) <= size;
}

// Returns the first bytes of the decompressed shard, at most `most`.
absl::StatusOr<std::string> Decompress(const RandomAccessFile& file,
                                       uint64_t size, Compression compression,
                                       uint64_t most) {
  constexpr size_t kPart = size_t{1} << 20;
  const ReadFileAt read = [&](uint64_t offset, std::span<std::byte> out) {
    FM_ASSIGN_OR_RETURN(const size_t got, file.Read(offset, out));
    if (got == out.size()) return absl::OkStatus();
    return DataLoss("the file became shorter while it was read");
  };
  const auto stream =
      MakeByteStream(StreamCoding(compression, 31), read, 0, size);
  std::string out;
  while (out.size() < most) {
    const size_t before = out.size();
    const size_t want = std::min<uint64_t>(kPart, most - before);
    out.resize(before + want);
    FM_ASSIGN_OR_RETURN(
        const size_t got,
        stream->Read(
            {reinterpret_cast<std::byte*>(out.data()) + before, want}));
    out.resize(before + got);
    if (got == 0) break;
  }
  return out;
}

absl::StatusOr<Compression> CompressionOfShard(const RandomAccessFile& file,
                                               uint64_t size) {
  // Announces the bytes that are read next, so that a store needs one request.
  const ByteRange head_range{0, std::min<uint64_t>(size, kHeadBytesAhead)};
  if (file.ahead_bytes() > 0) file.Prefetch({&head_range, 1});
  FM_ASSIGN_OR_RETURN(
      const std::string head,
      ReadWhole(file, 0, std::min<uint64_t>(size, kCompressionBytes)));
  if (IsPlain(head, size)) return Compression::kNone;
  const Compression compression = CompressionOfBytes(head);
  if (compression != Compression::kNone) return compression;
  const std::string& name = file.name();
  if (name.ends_with(".br") || name.ends_with(".snappy")) {
    return DataLoss(
        "shards compressed by brotli or snappy cannot be read; write them with "
        "compression=\"zstd\"");
  }
  return DataLoss("it is no MDS shard, or damaged");
}

// Reads the bytes that ParseMdsHead needs: all before the first sample.
absl::StatusOr<MdsHead> ReadHead(const RandomAccessFile& file, uint64_t size) {
  FM_ASSIGN_OR_RETURN(const std::string begin, ReadWhole(file, 0, 8));
  const uint64_t first = LoadLittleEndian<uint32_t>(begin, 4);
  if (first > size) return DataLoss("its first sample is beyond its end");
  FM_ASSIGN_OR_RETURN(const std::string head, ReadWhole(file, 0, first));
  return ParseMdsHead(head, size);
}

// Returns the index of the shard's column for each field.
absl::StatusOr<std::vector<size_t>> ColumnsOf(
    const std::vector<MdsColumn>& columns,
    const std::vector<SourceField>& fields) {
  std::vector<size_t> out;
  for (const SourceField& field : fields) {
    const auto found = std::ranges::find(columns, field.name, &MdsColumn::name);
    if (found == columns.end()) {
      std::vector<std::string> names;
      for (const MdsColumn& column : columns) names.push_back(column.name);
      return DataLoss("there is no column \"{}\" in it; it has {}", field.name,
                      fmt::join(names, ", "));
    }
    out.push_back(static_cast<size_t>(found - columns.begin()));
  }
  return out;
}

class MdsShard final : public ItemFile {
 public:
  MdsShard(MdsHead head, std::vector<size_t> columns,
           std::vector<SourceField> fields, std::string content)
      : head_(std::move(head)),
        columns_(std::move(columns)),
        fields_(std::move(fields)),
        content_(std::move(content)) {}

  uint64_t records() const override { return head_.offsets.size() - 1; }
  size_t bytes() const override {
    return head_.offsets.size() * sizeof(uint32_t) + content_.size();
  }
  ByteRange RangeOf(uint64_t record) const override {
    if (!content_.empty() || fields_.empty()) return {};
    return PlaceOf(record);
  }
  absl::Status Append(uint64_t record, const ReadFileAt& read,
                      std::vector<std::byte>& scratch,
                      std::vector<EncodedColumn>& columns) const override {
    if (fields_.empty()) return absl::OkStatus();
    const ByteRange place = PlaceOf(record);
    std::string_view sample;
    if (content_.empty()) {
      scratch.resize(place.size);
      if (place.size > 0) FM_RETURN_IF_ERROR(read(place.offset, scratch));
      sample = {reinterpret_cast<const char*>(scratch.data()), place.size};
    } else {
      sample = std::string_view(content_).substr(place.offset, place.size);
    }
    FM_ASSIGN_OR_RETURN(const auto values, MdsValues(head_.columns, sample));
    for (size_t f = 0; f < fields_.size(); ++f) {
      FM_RETURN_IF_ERROR(AppendMdsValue(head_.columns[columns_[f]],
                                        values[columns_[f]], fields_[f],
                                        columns[f]));
    }
    return absl::OkStatus();
  }

 private:
  ByteRange PlaceOf(uint64_t record) const {
    const uint64_t begin = head_.offsets[record];
    return {begin, head_.offsets[record + 1] - begin};
  }

  const MdsHead head_;
  const std::vector<size_t> columns_;  // by field
  const std::vector<SourceField> fields_;
  const std::string content_;  // of a shard that was compressed
};

}  // namespace

absl::StatusOr<MdsHead> ParseMdsHead(std::string_view bytes, uint64_t size) {
  if (bytes.size() < 8) return DataLoss("it is no MDS shard, or cut short");
  const uint64_t samples = LoadLittleEndian<uint32_t>(bytes, 0);
  const uint64_t table = TableEnd(samples);
  if (table > bytes.size()) {
    return DataLoss(
        "it is no MDS shard, or cut short: a table of {} samples "
        "does not fit",
        samples);
  }
  MdsHead head;
  head.offsets.resize(samples + 1);
  std::memcpy(head.offsets.data(), bytes.data() + 4, table - 4);
  const uint64_t first = head.offsets.front();
  if (first < table || first > bytes.size() ||
      first - table > kConfigBytesMax ||
      !std::is_sorted(head.offsets.begin(), head.offsets.end())) {
    return DataLoss("its table of samples is damaged");
  }
  if (head.offsets.back() != size) {
    return DataLoss("it has {} bytes, where its table of samples says {}", size,
                    head.offsets.back());
  }
  FM_ASSIGN_OR_RETURN(head.columns,
                      ParseColumns(bytes.substr(table, first - table)));
  return head;
}

absl::StatusOr<uint64_t> CountMdsSamples(const RandomAccessFile& file,
                                         uint64_t size) {
  FM_ASSIGN_OR_RETURN(const Compression compression,
                      CompressionOfShard(file, size));
  std::string head;
  if (compression == Compression::kNone) {
    FM_ASSIGN_OR_RETURN(head, ReadWhole(file, 0, 4));
  } else {
    FM_ASSIGN_OR_RETURN(head, Decompress(file, size, compression, 4));
  }
  if (head.size() < 4) return DataLoss("it is no MDS shard, or cut short");
  return LoadLittleEndian<uint32_t>(head, 0);
}

absl::StatusOr<std::unique_ptr<const ItemFile>> OpenMdsShard(
    const RandomAccessFile& file, uint64_t size,
    const std::vector<SourceField>& fields) {
  FM_ASSIGN_OR_RETURN(const Compression compression,
                      CompressionOfShard(file, size));
  std::string content;
  MdsHead head;
  if (compression == Compression::kNone) {
    FM_ASSIGN_OR_RETURN(head, ReadHead(file, size));
  } else {
    FM_ASSIGN_OR_RETURN(
        content, Decompress(file, size, compression, kShardBytesMax + 1));
    if (content.size() > kShardBytesMax) {
      return DataLoss("it is more than 4 GiB decompressed");
    }
    FM_ASSIGN_OR_RETURN(head, ParseMdsHead(content, content.size()));
  }
  FM_ASSIGN_OR_RETURN(auto columns, ColumnsOf(head.columns, fields));
  return std::make_unique<const MdsShard>(std::move(head), std::move(columns),
                                          fields, std::move(content));
}

absl::StatusOr<std::vector<SourceField>> MdsFields(const RandomAccessFile& file,
                                                   uint64_t size) {
  FM_ASSIGN_OR_RETURN(const Compression compression,
                      CompressionOfShard(file, size));
  MdsHead head;
  std::string content;
  if (compression == Compression::kNone) {
    FM_ASSIGN_OR_RETURN(head, ReadHead(file, size));
  } else {
    FM_ASSIGN_OR_RETURN(content,
                        Decompress(file, size, compression, kShardBytesMax));
    FM_ASSIGN_OR_RETURN(head, ParseMdsHead(content, content.size()));
  }
  if (head.offsets.size() == 1) return std::vector<SourceField>();
  const uint64_t begin = head.offsets[0];
  const uint64_t bytes = head.offsets[1] - begin;
  std::string sample;
  if (compression == Compression::kNone) {
    FM_ASSIGN_OR_RETURN(sample, ReadWhole(file, begin, bytes));
  } else {
    sample = content.substr(begin, bytes);
  }
  FM_ASSIGN_OR_RETURN(const auto values, MdsValues(head.columns, sample));
  std::vector<SourceField> fields;
  for (size_t c = 0; c < head.columns.size(); ++c) {
    FM_ASSIGN_OR_RETURN(fields.emplace_back(),
                        MdsField(head.columns[c], values[c]));
  }
  return fields;
}

}  // namespace feedmill
