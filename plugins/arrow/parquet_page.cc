#include "plugins/arrow/parquet_page.h"

#include <arrow/util/compression.h>

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "core/base/leb128.h"
#include "core/base/status.h"
#include "core/formats/riegeli_compression.h"
#include "plugins/arrow/arrow_status.h"
#include "plugins/arrow/bounded_pool.h"

namespace feedmill {
namespace {

// More than a page of any writer has.
constexpr int64_t kMaxBeginning = int64_t{16} << 20;

// Types of values in Thrift's compact protocol.
enum ThriftType : uint8_t {
  kStop = 0,
  kTrue = 1,
  kFalse = 2,
  kInt16 = 4,
  kInt32 = 5,
  kInt64 = 6,
  kBinary = 8,
  kStruct = 12,
};

// Takes a struct of the compact protocol and keeps its integers.
class ThriftStruct {
 public:
  // The key (5, 1) is the field 1 of the struct in field 5; (0, 1) is the field
  // 1 of the outer struct.
  using Integers = std::map<std::pair<int64_t, int64_t>, int64_t>;

  // False if `bytes` end, or have a list or a map: headers of pages have none.
  bool Take(std::string_view& bytes) { return TakeFields(bytes, 0, 0); }

  bool Has(int64_t outer, int64_t field) const {
    return integers_.contains({outer, field});
  }
  int64_t Get(int64_t outer, int64_t field) const {
    const auto found = integers_.find({outer, field});
    return found == integers_.end() ? 0 : found->second;
  }

 private:
  static constexpr int kMaxDepth = 4;
  static constexpr int64_t kMaxField = 1000;

  static bool TakeInteger(std::string_view& bytes, int64_t& value) {
    const auto zigzag = TakeLeb128(bytes);
    if (!zigzag) return false;
    value =
        static_cast<int64_t>(*zigzag >> 1) ^ -static_cast<int64_t>(*zigzag & 1);
    return true;
  }

  bool TakeFields(std::string_view& bytes, int depth, int64_t outer) {
    int64_t field = 0;
    while (!bytes.empty()) {
      const auto head = static_cast<uint8_t>(bytes.front());
      bytes.remove_prefix(1);
      if (head == kStop) return true;
      const int64_t step = head >> 4;
      if (step > 0) {
        field += step;
      } else if (!TakeInteger(bytes, field) || field < 0 || field > kMaxField) {
        return false;
      }
      if (!TakeValue(bytes, head & 15, depth, outer, field)) return false;
    }
    return false;
  }

  bool TakeValue(std::string_view& bytes, int type, int depth, int64_t outer,
                 int64_t field) {
    int64_t value = 0;
    switch (type) {
      case kTrue:
      case kFalse:
        return true;
      case kInt16:
      case kInt32:
      case kInt64:
        if (!TakeInteger(bytes, value)) return false;
        if (depth <= 1) integers_[{outer, field}] = value;
        return true;
      case kBinary: {
        const auto size = TakeLeb128(bytes);
        if (!size || *size > bytes.size()) return false;
        bytes.remove_prefix(*size);
        return true;
      }
      case kStruct:
        return depth < kMaxDepth && TakeFields(bytes, depth + 1, field);
      default:
        return false;
    }
  }

  Integers integers_;
};

// Decompresses as many bytes as `packed` has; returns their number.
absl::StatusOr<int64_t> DecompressBeginning(std::string_view packed,
                                            parquet::Compression::type codec,
                                            std::span<uint8_t> out) {
  if (codec == parquet::Compression::UNCOMPRESSED) {
    const size_t size = std::min(packed.size(), out.size());
    std::ranges::copy(packed.substr(0, size), out.begin());
    return static_cast<int64_t>(size);
  }
  if (codec == parquet::Compression::SNAPPY) {
    return static_cast<int64_t>(DecompressSnappyBeginning(
        packed, {reinterpret_cast<char*>(out.data()), out.size()}));
  }
  if (codec != parquet::Compression::ZSTD &&
      codec != parquet::Compression::GZIP) {
    return FailedPrecondition("a page whose beginning cannot be decompressed");
  }
  FM_ASSIGN_OR_RETURN_ARROW(const auto method,
                            arrow::util::Codec::Create(codec));
  FM_ASSIGN_OR_RETURN_ARROW(const auto stream, method->MakeDecompressor());
  int64_t got = 0;
  while (!packed.empty() && std::cmp_less(got, out.size())) {
    FM_ASSIGN_OR_RETURN_ARROW(
        const auto step,
        stream->Decompress(static_cast<int64_t>(packed.size()),
                           reinterpret_cast<const uint8_t*>(packed.data()),
                           static_cast<int64_t>(out.size()) - got,
                           out.data() + got));
    if (step.bytes_read == 0 && step.bytes_written == 0) break;
    packed.remove_prefix(static_cast<size_t>(step.bytes_read));
    got += step.bytes_written;
  }
  return got;
}

}  // namespace

std::optional<ParquetPageHeader> TakeParquetPageHeader(
    std::string_view& bytes) {
  // Ids of the fields in parquet.thrift.
  constexpr int64_t kDataHeader = 5;
  constexpr int64_t kDictionaryHeader = 7;
  ThriftStruct fields;
  if (!fields.Take(bytes)) return std::nullopt;
  ParquetPageHeader header;
  header.type = fields.Get(0, 1);
  header.uncompressed_size = fields.Get(0, 2);
  header.compressed_size = fields.Get(0, 3);
  header.has_checksum = fields.Has(0, 4);
  const int64_t own = header.type == ParquetPageHeader::kDictionary
                          ? kDictionaryHeader
                          : kDataHeader;
  header.values = fields.Get(own, 1);
  header.encoding = fields.Get(own, 2);
  header.definition_levels = fields.Get(own, 3);
  header.repetition_levels = fields.Get(own, 4);
  for (const int64_t number :
       {header.uncompressed_size, header.compressed_size, header.values}) {
    if (number < 0 || !std::in_range<int32_t>(number)) return std::nullopt;
  }
  return header;
}

absl::StatusOr<ParquetPageBeginning> ParsePageBeginning(
    std::string_view bytes, parquet::Compression::type codec) {
  ParquetPageBeginning page;
  const auto header = TakeParquetPageHeader(bytes);
  if (!header || header->has_checksum ||
      header->type == ParquetPageHeader::kDataV2) {
    return FailedPrecondition("a page whose beginning cannot be read alone");
  }
  page.header = *header;
  const bool all = std::cmp_less_equal(header->compressed_size, bytes.size());
  if (all)
    bytes = bytes.substr(0, static_cast<size_t>(header->compressed_size));
  const int64_t room = std::min(header->uncompressed_size, kMaxBeginning);
  FM_ASSIGN_OR_RETURN_ARROW(
      std::shared_ptr<arrow::ResizableBuffer> out,
      arrow::AllocateResizableBuffer(room, BoundedPool()));
  FM_ASSIGN_OR_RETURN(const int64_t got,
                      DecompressBeginning(bytes, codec,
                                          {out->mutable_data(),
                                           static_cast<size_t>(out->size())}));
  FM_RETURN_IF_ARROW(out->Resize(got, /*shrink_to_fit=*/true));
  page.whole = all && got == header->uncompressed_size;
  page.bytes = std::move(out);
  return page;
}

}  // namespace feedmill
