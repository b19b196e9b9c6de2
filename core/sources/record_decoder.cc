#include "core/sources/record_decoder.h"

#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "absl/strings/ascii.h"
#include "core/base/status.h"
#include "core/base/utf8.h"
#include "core/base/vector_target.h"
#include "core/chunk/buffer_builder.h"
#include "core/chunk/validity.h"
#include "core/sources/value_text.h"

namespace feedmill {
namespace {

// Short records are copied in steps of this many bytes, beyond their end. If
// most records are shorter than a step, no branch depends on their sizes.
constexpr size_t kCopiedTogether = 128;
constexpr size_t kShortRecord = 512;

// `end`: end of the readable bytes.
[[gnu::always_inline]] inline bool IsCopiedInSteps(const char* from,
                                                   size_t size,
                                                   const char* end) {
  return size <= kShortRecord &&
         static_cast<size_t>(end - from) >= size + kCopiedTogether;
}

// REQUIRES: kCopiedTogether more bytes are writable.
[[gnu::always_inline]] inline void CopyRecord(const char* from, size_t size,
                                              const char* end, char* to) {
  if (!IsCopiedInSteps(from, size, end)) {
    if (size > 0) std::memcpy(to, from, size);
    return;
  }
  for (size_t k = 0; k < size; k += kCopiedTogether) {
    std::memcpy(to + k, from + k, kCopiedTogether);
  }
}

// Copies the records without gaps and writes the end of each, counted from
// `before` at `to`. Returns the end of the last record.
[[gnu::always_inline]] inline char* CopyRecords(std::string_view window,
                                                std::span<const Extent> records,
                                                int64_t before, char* to,
                                                int64_t* ends) {
  const char* const end = window.data() + window.size();
  const char* const begin = to;
  for (size_t k = 0; k < records.size(); ++k) {
    CopyRecord(window.data() + records[k].begin, records[k].size, end, to);
    to += records[k].size;
    ends[k] = before + (to - begin);
  }
  return to;
}

#if defined(__x86_64__)
[[gnu::target("arch=x86-64-v3")]] char* CopyRecordsAvx2(
    std::string_view window, std::span<const Extent> records, int64_t before,
    char* to, int64_t* ends) {
  return CopyRecords(window, records, before, to, ends);
}

[[gnu::target("arch=x86-64-v4")]] char* CopyRecordsAvx512(
    std::string_view window, std::span<const Extent> records, int64_t before,
    char* to, int64_t* ends) {
  static_assert(kCopiedTogether == 128);
  const char* const end = window.data() + window.size();
  const char* const begin = to;
  for (size_t k = 0; k < records.size(); ++k) {
    const char* const from = window.data() + records[k].begin;
    const size_t size = records[k].size;
    if (IsCopiedInSteps(from, size, end)) {
      for (size_t j = 0; j < size; j += kCopiedTogether) {
        const __m512i low = _mm512_loadu_si512(from + j);
        const __m512i high = _mm512_loadu_si512(from + j + 64);
        _mm512_storeu_si512(to + j, low);
        _mm512_storeu_si512(to + j + 64, high);
      }
    } else {
      CopyRecord(from, size, end, to);
    }
    to += size;
    ends[k] = before + (to - begin);
  }
  return to;
}
#endif

char* CopyRecordsForTarget(std::string_view window,
                           std::span<const Extent> records, int64_t before,
                           char* to, int64_t* ends) {
#if defined(__x86_64__)
  if (LoopTarget() == VectorTarget::kAvx512) {
    return CopyRecordsAvx512(window, records, before, to, ends);
  }
  if (LoopTarget() >= VectorTarget::kAvx2) {
    return CopyRecordsAvx2(window, records, before, to, ends);
  }
#endif
  return CopyRecords(window, records, before, to, ends);
}

// Decodes text, TFRecords and fixed-length records: the bytes themselves.
class BytesDecoder final : public RecordDecoder {
 public:
  BytesDecoder() : RecordDecoder({{"", DType::kBytes, {}}}) {}

  absl::Status Decode(const Head&, std::string_view window,
                      std::span<const Extent> records,
                      RecordBlock& out) const override {
    if (records.empty()) return absl::OkStatus();
    OutputColumn& column = out.columns[0];
    const size_t before = column.values.size();
    const size_t most =
        records.back().begin + records.back().size - records.front().begin;
    char* const begin =
        reinterpret_cast<char*>(column.values.Extend(most + kCopiedTogether));
    auto* const offsets = reinterpret_cast<int64_t*>(
        column.offsets.Extend(records.size() * sizeof(int64_t)));
    const char* const to = CopyRecordsForTarget(
        window, records, static_cast<int64_t>(before), begin, offsets);
    column.values.Truncate(before + static_cast<size_t>(to - begin));
    out.rows += records.size();
    return absl::OkStatus();
  }
};

}  // namespace

std::unique_ptr<const RecordDecoder> MakeBytesDecoder() {
  return std::make_unique<BytesDecoder>();
}

RecordDecoder::RecordDecoder(std::vector<SourceField> fields)
    : fields_(std::move(fields)) {
  for (size_t f = 0; f < fields_.size(); ++f) {
    nullable_.push_back(MayBeNull(std::span(fields_), f));
    has_nulls_ = has_nulls_ || nullable_.back();
  }
}

absl::StatusOr<RecordDecoder::Head> RecordDecoder::ReadHead(
    std::string_view) const {
  return Head{};
}

void AppendNull(DType dtype, OutputColumn& column, OutputColumn& validity) {
  if (dtype == DType::kBytes) {
    column.offsets.Push(static_cast<int64_t>(column.values.size()));
  } else {
    VisitNumeric(dtype, [&](auto zero) { column.values.Push(zero); });
  }
  validity.values.Push(uint8_t{0});
}

std::vector<SourceField> LiveFields(const std::vector<SourceField>& fields,
                                    const std::vector<bool>& live) {
  if (live.empty()) return fields;
  std::vector<SourceField> out;
  for (size_t f = 0; f < fields.size(); ++f) {
    if (live[f]) out.push_back(fields[f]);
  }
  return out;
}

namespace {

// Returns `types: {n: "int64?"}`.
std::string TypesLine(const SourceField& field, std::string_view type) {
  const bool plain = std::ranges::all_of(field.name, [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
  });
  const std::string_view quote = plain ? "" : "\"";
  return fmt::format("types: {{{}{}{}: {}}}", quote, Shown(field.name), quote,
                     type);
}

// Returns the first dtype of those that inference finds which holds a number.
DType DTypeOfText(std::string_view text) {
  for (const DType dtype : {DType::kInt64, DType::kUInt64, DType::kFloat64}) {
    BufferBuilder parsed;
    if (AppendNumber(text, dtype, parsed) && FloatKeepsInteger(text, dtype)) {
      return dtype;
    }
  }
  return DType::kBytes;
}

constexpr std::string_view kInFields = "(or in `fields`, if they are declared)";

}  // namespace

absl::Status NoTime(std::string_view field, std::string_view text,
                    LogicalType time) {
  return DataLoss(
      "\"{}\" is \"{}\", which is no {} of ISO 8601 such as {}; `types: {{{}: "
      "str}}` and parse_date read other forms",
      Shown(field), Shown(text), TypeName(DType::kInt64, time),
      time == LogicalType::kDate ? "2024-02-29" : "2024-02-29T12:30:45",
      Shown(field));
}

std::string HowToTakeNulls(const SourceField& field) {
  const std::string nullable =
      fmt::format("\"{}?\"", TypeName(field.dtype, field.logical));
  return fmt::format("write {} for nulls, or float64 for NaN {}",
                     TypesLine(field, nullable), kInFields);
}

std::string HowToTake(std::span<const SourceField> fields, size_t f,
                      std::string_view number) {
  const SourceField& field = fields[f];
  const DType wider = DTypeOfText(number);
  const bool text = wider == field.dtype || wider == DType::kBytes;
  std::string type(text ? "str" : DTypeName(wider));
  const size_t name = type.size();
  if (wider != DType::kBytes) type += ShapeToString(field.shape);
  if (MayBeNull(fields, f)) type += '?';
  const bool plain = type.size() == name;
  return fmt::format(
      "write {} {}",
      TypesLine(field, plain ? type : fmt::format("\"{}\"", type)), kInFields);
}

std::string WhyBytes(const std::string& file, size_t record,
                     std::string_view value, DType dtype) {
  const std::string others =
      dtype == DType::kBytes
          ? "no type of numbers holds all exactly"
          : fmt::format("other records have {}", DTypeName(dtype));
  return fmt::format("record {} of {} has \"{}\", and {}", record, file,
                     Shown(value), others);
}

std::string Shown(std::string_view text) {
  constexpr size_t kShown = 60;
  const bool utf8 = IsUtf8(text);
  std::string_view cut = text.substr(0, kShown);
  while (utf8 && !IsUtf8(cut)) cut.remove_suffix(1);  // do not cut a character
  std::string out;
  for (const char c : cut) {
    const auto byte = static_cast<unsigned char>(c);
    if (!utf8 && byte >= 0x80) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += byte < 0x20 || byte == 0x7f ? '?' : c;
    }
  }
  if (text.size() > cut.size()) out += "…";
  return out;
}

}  // namespace feedmill
