#include "core/sources/framing.h"

#include <bit>
#include <limits>
#include <span>
#include <variant>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "core/base/status.h"
#include "core/sources/tar.h"
#include "core/sources/tfrecord.h"

namespace feedmill {
namespace {

// Adds the line [begin, end) unless it is empty.
void AddFilled(std::string_view window, size_t begin, size_t end,
               std::vector<Extent>& records) {
  if (end > begin && window[end - 1] == '\r') --end;
  if (end > begin) records.push_back({begin, end - begin});
}

// Which of 64 bytes are newlines, the first the lowest bit.
#if defined(__SSE2__)
uint64_t NewlinesOf64(const char* text) {
  const __m128i newline = _mm_set1_epi8('\n');
  uint64_t mask = 0;
  for (int k = 0; k < 4; ++k) {
    const __m128i bytes =
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(text + 16 * k));
    const auto some = static_cast<uint32_t>(
        _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, newline)));
    mask |= uint64_t{some} << (16 * k);
  }
  return mask;
}
#else
uint64_t NewlinesOf64(const char* text) {
  uint64_t mask = 0;
  for (int k = 0; k < 64; ++k) mask |= uint64_t{text[k] == '\n'} << k;
  return mask;
}
#endif

// Adds the line that ends at `end`.
inline void AddLine(bool filled, std::string_view window, size_t& begin,
                    size_t end, std::vector<Extent>& records) {
  if (filled) {
    AddFilled(window, begin, end, records);
  } else {
    records.push_back({begin, end - begin});
  }
  begin = end + 1;
}

size_t FindLines(bool filled, std::string_view window, bool at_end,
                 std::vector<Extent>& records) {
  size_t begin = 0;
  size_t at = 0;
  for (; at + 64 <= window.size(); at += 64) {
    for (uint64_t mask = NewlinesOf64(window.data() + at); mask != 0;
         mask &= mask - 1) {
      AddLine(filled, window, begin,
              at + static_cast<size_t>(std::countr_zero(mask)), records);
    }
  }
  for (; at < window.size(); ++at) {
    if (window[at] == '\n') AddLine(filled, window, begin, at, records);
  }
  if (!at_end) return begin;
  if (begin < window.size()) {
    AddLine(filled, window, begin, window.size(), records);
  }
  return window.size();
}

size_t FindQuotedLines(std::string_view window, bool at_end,
                       std::vector<Extent>& records) {
  size_t begin = 0;
  bool quoted = false;
  for (size_t k = 0; k < window.size(); ++k) {
    if (window[k] == '"') {
      quoted = !quoted;
    } else if (window[k] == '\n' && !quoted) {
      AddFilled(window, begin, k, records);
      begin = k + 1;
    }
  }
  if (!at_end) return begin;
  AddFilled(window, begin, window.size(), records);
  return window.size();
}

Framed FindTfRecords(std::string_view window, bool at_end,
                     const WindowPlace& place, std::vector<Extent>& records) {
  Framed framed;
  const auto bytes = std::as_bytes(std::span(window));
  while (framed.used < window.size()) {
    const auto rest = bytes.subspan(framed.used);
    if (!at_end && rest.size() < kTfRecordHeaderBytes) return framed;
    const TfRecordPlace at{place.path, place.record + records.size(),
                           place.offset + framed.used};
    // Where the file goes on, its end is not known.
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

Framed FindFixed(const Framing& framing, std::string_view window, bool at_end,
                 const WindowPlace& place, std::vector<Extent>& records) {
  Framed framed;
  while (window.size() - framed.used >=
         framing.record_bytes + framing.footer_bytes) {
    records.push_back({framed.used, framing.record_bytes});
    framed.used += framing.record_bytes;
  }
  if (at_end && window.size() - framed.used != framing.footer_bytes) {
    framed.error = DataLoss(
        "{}: record {} at offset {}: the file ends inside it (records of {} "
        "bytes, a footer of {})",
        place.path, place.record + records.size(), place.offset + framed.used,
        framing.record_bytes, framing.footer_bytes);
  } else if (at_end) {
    framed.used = window.size();
  }
  return framed;
}

}  // namespace

Framing FramingOf(const Source& source) {
  Framing framing;
  if (std::holds_alternative<TfRecordSource>(source)) {
    framing.kind = Framing::Kind::kTfRecords;
  } else if (std::holds_alternative<JsonlSource>(source)) {
    framing.kind = Framing::Kind::kFilledLines;
  } else if (const auto* csv = std::get_if<CsvSource>(&source)) {
    framing.kind = csv->multiline ? Framing::Kind::kQuotedLines
                                  : Framing::Kind::kFilledLines;
    framing.first_is_header = csv->header;
  } else if (const auto* fixed = std::get_if<FixedLengthSource>(&source)) {
    framing.kind = Framing::Kind::kFixed;
    framing.record_bytes = static_cast<uint64_t>(fixed->record_bytes);
    framing.header_bytes = static_cast<uint64_t>(fixed->header_bytes);
    framing.footer_bytes = static_cast<uint64_t>(fixed->footer_bytes);
  } else if (std::holds_alternative<WebDatasetSource>(source)) {
    framing.kind = Framing::Kind::kTarGroups;
  }
  return framing;
}

Framed FindRecords(const Framing& framing, std::string_view window, bool at_end,
                   const WindowPlace& place, std::vector<Extent>& records) {
  switch (framing.kind) {
    case Framing::Kind::kTfRecords:
      return FindTfRecords(window, at_end, place, records);
    case Framing::Kind::kLines:
      return {FindLines(false, window, at_end, records), {}};
    case Framing::Kind::kFilledLines:
      return {FindLines(true, window, at_end, records), {}};
    case Framing::Kind::kQuotedLines:
      return {FindQuotedLines(window, at_end, records), {}};
    case Framing::Kind::kFixed:
      return FindFixed(framing, window, at_end, place, records);
    case Framing::Kind::kTarGroups:
      return FindTarGroups(window, at_end, place, records);
  }
  return {};
}

}  // namespace feedmill
