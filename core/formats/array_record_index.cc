#include "core/formats/array_record_index.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/leb128.h"
#include "core/base/status.h"
#include "core/formats/riegeli_chunk.h"
#include "core/io/file_errors.h"
#include "core/sources/item_records.h"

namespace feedmill {
namespace {

constexpr uint64_t kPostscriptMagic = 0x71930e704fdae05e;
constexpr uint64_t kFooterVersion = 1;
constexpr uint64_t kFileHeadBytes = 64;
// Bytes at the end of a file that are read at once: most footers are in them.
constexpr uint64_t kTailBytes = 2 * kRiegeliBlockBytes;
// The metadata in a footer, of which the writer's options are a text.
constexpr uint64_t kMetadataBytesMax = uint64_t{64} << 10;
// An entry of a footer: three numbers with their tags.
constexpr uint64_t kEntryBytesMax = 33;

// A field of a protocol buffer.
struct ProtoField {
  uint64_t number = 0;
  uint64_t value = 0;        // of a varint
  std::string_view bytes{};  // of a message or a text
};

// Removes the next field of a message; nullopt if it is damaged, or of a kind
// that these messages do not have.
std::optional<ProtoField> TakeProtoField(std::string_view& message) {
  constexpr uint64_t kVarint = 0;
  constexpr uint64_t kDelimited = 2;
  const auto tag = TakeLeb128(message);
  const auto value = tag ? TakeLeb128(message) : std::nullopt;
  if (!value) return std::nullopt;
  ProtoField field{*tag >> 3, *value};
  if (*tag % 8 == kVarint) return field;
  if (*tag % 8 != kDelimited || *value > message.size()) return std::nullopt;
  field.bytes = message.substr(0, *value);
  message.remove_prefix(*value);
  return field;
}

// Calls visit(field) for each field of a message. Returns false if it is
// damaged.
template <class Visit>
bool VisitProto(std::string_view message, const Visit& visit) {
  while (!message.empty()) {
    const auto field = TakeProtoField(message);
    if (!field) return false;
    visit(*field);
  }
  return true;
}

struct FooterMetadata {
  uint64_t version = 0;
  uint64_t chunks = 0;
  uint64_t records = 0;
};

std::optional<FooterMetadata> ParseFooterMetadata(std::string_view record) {
  FooterMetadata metadata;
  bool sound = true;
  const bool whole = VisitProto(record, [&](const ProtoField& outer) {
    if (outer.number != 1) return;
    sound = VisitProto(outer.bytes, [&](const ProtoField& field) {
      if (field.number == 1) metadata.version = field.value;
      if (field.number == 2) metadata.chunks = field.value;
      if (field.number == 3) metadata.records = field.value;
    });
  });
  if (!whole || !sound) return std::nullopt;
  return metadata;
}

struct FooterEntry {
  std::optional<uint64_t> offset{};
  uint64_t records = 0;
};

std::optional<FooterEntry> ParseFooterEntry(std::string_view record) {
  FooterEntry entry;
  const bool whole = VisitProto(record, [&](const ProtoField& field) {
    if (field.number == 1) entry.offset = field.value;
    if (field.number == 3) entry.records = field.value;
  });
  if (!whole || !entry.offset) return std::nullopt;
  return entry;
}

// The records of a decoded chunk.
struct DecodedRecords {
  BufferBuilder values;
  std::vector<uint64_t> ends;

  std::string_view operator[](size_t k) {
    const uint64_t begin = k == 0 ? 0 : ends[k - 1];
    return {values.As<const char>() + begin, ends[k] - begin};
  }
};

// Decodes the chunk at `begin` of a file. It has at most `most` records, which
// are metadata and entries of a footer.
absl::StatusOr<DecodedRecords> DecodeAt(std::string_view bytes, uint64_t begin,
                                        uint64_t most) {
  std::vector<std::byte> memory;
  FM_ASSIGN_OR_RETURN(
      const RiegeliChunk chunk,
      ParseRiegeliChunk(std::as_bytes(std::span(bytes)), begin, memory));
  if (chunk.records > most ||
      chunk.decoded_bytes > kMetadataBytesMax + most * kEntryBytesMax) {
    return DataLoss("it has more records than the file has place for");
  }
  DecodedRecords decoded;
  FM_RETURN_IF_ERROR(
      RiegeliDecoder().Decode(chunk, decoded.ends, decoded.values));
  if (decoded.ends.empty()) return DataLoss("it has no records");
  return decoded;
}

// Why the end of a file has no postscript.
absl::Status NoPostscript(const RandomAccessFile& file, uint64_t size,
                          const absl::Status& why) {
  const uint64_t head_bytes = std::min(size, kFileHeadBytes);
  FM_ASSIGN_OR_RETURN(const std::string head, ReadWhole(file, 0, head_bytes));
  std::vector<std::byte> memory;
  const auto first =
      ParseRiegeliChunk(std::as_bytes(std::span(head)), 0, memory);
  if (!first.ok() || first->type != RiegeliChunkType::kSignature) {
    return DataLoss("it is no ArrayRecord file, or damaged");
  }
  return DataLoss(
      "the index at its end is missing or damaged ({}): the file is cut short, "
      "ArrayRecordWriter was not closed, or another writer of Riegeli files "
      "made it; write it with ArrayRecordWriter and close that",
      size % kRiegeliBlockBytes == 0
          ? ErrorText(why)
          : fmt::format("{} bytes are no multiple of 64 KiB", size));
}

// Returns the offset of the footer from the last block of a file.
absl::StatusOr<uint64_t> FooterOffset(std::string_view block, uint64_t begin) {
  // The postscript is there three times, for the case of damage; its hash makes
  // the others superfluous.
  constexpr uint64_t kCopiesMax = 64;
  FM_ASSIGN_OR_RETURN(DecodedRecords records,
                      DecodeAt(block, begin, kCopiesMax));
  uint64_t offset = 0;
  uint64_t magic = 0;
  const bool whole = VisitProto(records[0], [&](const ProtoField& field) {
    if (field.number == 1) offset = field.value;
    if (field.number == 2) magic = field.value;
  });
  if (!whole || magic != kPostscriptMagic) {
    return DataLoss("its last block is no postscript");
  }
  if (offset < kFileHeadBytes || offset >= begin) {
    return DataLoss("its footer would be at offset {}", offset);
  }
  return offset;
}

// Makes the index of the records of a footer, which begins at `end`.
absl::StatusOr<ArrayRecordIndex> IndexOfFooter(DecodedRecords& footer,
                                               uint64_t end) {
  const auto metadata = ParseFooterMetadata(footer[0]);
  if (!metadata) return DataLoss("its footer is damaged");
  if (metadata->version != kFooterVersion) {
    return DataLoss("its footer has the version {}; only {} can be read",
                    metadata->version, kFooterVersion);
  }
  const size_t chunks = footer.ends.size() - 1;
  if (metadata->chunks != chunks) {
    return DataLoss("its footer has {} chunks, where {} are stated", chunks,
                    metadata->chunks);
  }
  std::vector<uint64_t> offsets;
  std::vector<uint64_t> starts(1, 0);
  for (size_t k = 0; k < chunks; ++k) {
    const auto entry = ParseFooterEntry(footer[k + 1]);
    const uint64_t least =
        k == 0 ? kFileHeadBytes : offsets[k - 1] + kRiegeliChunkHeaderBytes;
    if (!entry || *entry->offset < least || *entry->offset >= end ||
        entry->records == 0 || entry->records > end) {
      return DataLoss("its footer is damaged: chunk {}", k);
    }
    offsets.push_back(*entry->offset);
    starts.push_back(starts.back() + entry->records);
  }
  offsets.push_back(end);
  // A chunk has at least as many bytes as records.
  for (size_t k = 0; k < chunks; ++k) {
    if (starts[k + 1] - starts[k] > offsets[k + 1] - offsets[k]) {
      return DataLoss("its footer is damaged: chunk {}", k);
    }
  }
  if (metadata->records != starts.back()) {
    return DataLoss("its chunks have {} records, where {} are stated",
                    starts.back(), metadata->records);
  }
  return ArrayRecordIndex(std::move(offsets), std::move(starts));
}

absl::StatusOr<ArrayRecordIndex> ReadIndexAtEnd(const RandomAccessFile& file,
                                                uint64_t size) {
  const uint64_t tail_bytes = std::min(size, kTailBytes);
  const uint64_t tail_begin = size - tail_bytes;
  const ByteRange tail_range{tail_begin, tail_bytes};
  if (file.ahead_bytes() > 0) file.Prefetch({&tail_range, 1});
  FM_ASSIGN_OR_RETURN(const std::string tail,
                      ReadWhole(file, tail_begin, tail_bytes));
  if (size < kTailBytes) {
    return NoPostscript(file, size, DataLoss("less than 128 KiB"));
  }
  const uint64_t postscript = size - kRiegeliBlockBytes;
  const auto footer_at = FooterOffset(
      std::string_view(tail).substr(postscript - tail_begin), postscript);
  if (!footer_at.ok()) return NoPostscript(file, size, footer_at.status());
  if (postscript - *footer_at > kRiegeliChunkBytesMax) {
    return DataLoss("its footer is larger than 1 GiB");
  }
  std::string footer_bytes;
  if (*footer_at < tail_begin) {
    FM_ASSIGN_OR_RETURN(footer_bytes,
                        ReadWhole(file, *footer_at, postscript - *footer_at));
  } else {
    footer_bytes =
        tail.substr(*footer_at - tail_begin, postscript - *footer_at);
  }
  const uint64_t chunks_max = *footer_at / kRiegeliChunkHeaderBytes;
  auto footer = DecodeAt(footer_bytes, *footer_at, chunks_max + 1);
  if (!footer.ok()) return CallDamaged(footer.status(), "its footer");
  return IndexOfFooter(*footer, *footer_at);
}

}  // namespace

ArrayRecordIndex::ArrayRecordIndex(std::vector<uint64_t> offsets,
                                   std::vector<uint64_t> starts)
    : offsets_(std::move(offsets)), records_(starts.back()) {
  if (chunks() == 0) return;
  const uint64_t group = starts[1];
  bool uniform = starts[chunks()] - starts[chunks() - 1] <= group;
  for (size_t k = 0; k < chunks(); ++k) {
    uniform = uniform && starts[k] == k * group;
  }
  if (uniform) {
    group_ = group;
  } else {
    starts_ = std::move(starts);
  }
}

size_t ArrayRecordIndex::ChunkOf(uint64_t record) const {
  if (group_ == 1) return record;
  if (group_ > 0) return record / group_;
  const auto after = std::upper_bound(starts_.begin(), starts_.end(), record);
  return static_cast<size_t>(after - starts_.begin()) - 1;
}

uint64_t ArrayRecordIndex::FirstRecordOf(size_t chunk) const {
  if (group_ == 0) return starts_[chunk];
  return std::min(chunk * group_, records_);
}

absl::StatusOr<ArrayRecordIndex> ReadArrayRecordIndex(
    const RandomAccessFile& file, uint64_t size) {
  auto index = ReadIndexAtEnd(file, size);
  if (!absl::IsDataLoss(index.status())) return index;
  return Annotate(index.status(), file.name());
}

}  // namespace feedmill
