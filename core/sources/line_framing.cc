#include "core/sources/line_framing.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "core/base/data_warnings.h"
#include "core/base/status.h"
#include "core/base/utf8.h"
#include "core/base/vector_target.h"
#include "core/io/byte_stream.h"
#include "core/io/read_ahead.h"
#include "core/io/read_stop.h"
#include "core/sources/compression_inference.h"

namespace feedmill {
namespace {

// Bytes of one read of Find.
constexpr size_t kFindBytes = size_t{1} << 20;

// Adds the line [begin, end) unless it is empty.
void AddFilled(std::string_view window, size_t begin, size_t end,
               std::vector<Extent>& records) {
  if (end > begin && window[end - 1] == '\r') --end;
  if (end > begin) records.push_back({begin, end - begin});
}

// Returns a bit for each of 64 bytes, set for newlines; the first byte is the
// lowest bit.
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

// Bytes of text that are searched at once.
constexpr size_t kSearchedBytes = 4096;
// Newlines per 64 bytes that are always noted, present or not, because their
// number is unpredictable for branches.
constexpr int kNotedTogether = 4;

// Returns the lowest set bit, or any bit if none is set. Plain std::countr_zero
// handles 0 with a branch, which would be unpredictable.
[[gnu::always_inline]] inline size_t LowestOf(uint64_t mask) {
  return static_cast<size_t>(std::countr_zero(mask | uint64_t{1} << 63));
}

// Notes the positions of the set bits of 64 bytes that begin at `at`. Returns
// the end of the notes. REQUIRES: room for kNotedTogether more.
[[gnu::always_inline]] inline size_t* NoteMask(uint64_t mask, size_t at,
                                               size_t* end) {
  size_t* const next = end + std::popcount(mask);
  for (int k = 0; k < kNotedTogether; ++k, mask &= mask - 1) {
    end[k] = at + LowestOf(mask);
  }
  for (end += kNotedTogether; end < next; mask &= mask - 1) {
    *end++ = at + LowestOf(mask);
  }
  return next;
}

// Notes the positions of newlines in `blocks` times 64 bytes that begin at
// `at`. Returns their number. REQUIRES: room for kNotedTogether more.
[[gnu::always_inline]] inline size_t NoteNewlines(const char* text,
                                                  size_t blocks, size_t at,
                                                  size_t* ends) {
  size_t* end = ends;
  for (size_t b = 0; b < blocks; ++b, at += 64) {
    end = NoteMask(NewlinesOf64(text + 64 * b), at, end);
  }
  return static_cast<size_t>(end - ends);
}

using NewlineNoter = size_t (*)(const char*, size_t, size_t, size_t*);

size_t NoteNewlinesBaseline(const char* text, size_t blocks, size_t at,
                            size_t* ends) {
  return NoteNewlines(text, blocks, at, ends);
}
#if defined(__x86_64__)
[[gnu::target("arch=x86-64-v3"), gnu::always_inline]] inline uint64_t
NewlinesOf32(const char* text) {
  const __m256i bytes =
      _mm256_loadu_si256(reinterpret_cast<const __m256i*>(text));
  return static_cast<uint32_t>(
      _mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('\n'))));
}

[[gnu::target("arch=x86-64-v3")]] size_t NoteNewlinesAvx2(const char* text,
                                                          size_t blocks,
                                                          size_t at,
                                                          size_t* ends) {
  size_t* end = ends;
  for (size_t b = 0; b < blocks; ++b, at += 64, text += 64) {
    const uint64_t mask = NewlinesOf32(text) | NewlinesOf32(text + 32) << 32;
    end = NoteMask(mask, at, end);
  }
  return static_cast<size_t>(end - ends);
}
[[gnu::target("arch=x86-64-v4")]] size_t NoteNewlinesAvx512(const char* text,
                                                            size_t blocks,
                                                            size_t at,
                                                            size_t* ends) {
  const __m512i newline = _mm512_set1_epi8('\n');
  size_t* end = ends;
  for (size_t b = 0; b < blocks; ++b, at += 64) {
    const __m512i bytes = _mm512_loadu_si512(text + 64 * b);
    end = NoteMask(_mm512_cmpeq_epi8_mask(bytes, newline), at, end);
  }
  return static_cast<size_t>(end - ends);
}
#endif

NewlineNoter NoterForTarget() {
#if defined(__x86_64__)
  if (LoopTarget() == VectorTarget::kAvx512) return NoteNewlinesAvx512;
  if (LoopTarget() >= VectorTarget::kAvx2) return NoteNewlinesAvx2;
#endif
  return NoteNewlinesBaseline;
}

// Adds the lines that end at ends[1], …; the first one begins at `begin`.
// Writes ends[0]. Returns where the next line begins.
size_t AddLines(bool filled, std::string_view window, size_t begin,
                std::span<size_t> ends, std::vector<Extent>& records) {
  if (filled) {
    for (const size_t end : ends.subspan(1)) {
      AddFilled(window, begin, end, records);
      begin = end + 1;
    }
    return begin;
  }
  const size_t count = ends.size() - 1;
  const size_t before = records.size();
  records.resize(before + count);
  Extent* const lines = records.data() + before;
  const size_t* const end = ends.data();
  ends[0] = begin - 1;  // so that lines do not depend on each other
  for (size_t k = 0; k < count; ++k) {
    lines[k] = {end[k] + 1, end[k + 1] - end[k] - 1};
  }
  return end[count] + 1;
}

size_t FindLines(bool filled, std::string_view window, bool at_end,
                 std::vector<Extent>& records) {
  const NewlineNoter note = NoterForTarget();
  std::array<size_t, 1 + kSearchedBytes + kNotedTogether> ends;
  size_t begin = 0;
  size_t at = 0;
  while (at + 64 <= window.size()) {
    const size_t blocks = std::min(kSearchedBytes, window.size() - at) / 64;
    const size_t count = note(window.data() + at, blocks, at, ends.data() + 1);
    begin = AddLines(filled, window, begin, std::span(ends).first(1 + count),
                     records);
    at += blocks * 64;
  }
  size_t rest = 0;
  for (; at < window.size(); ++at) {
    if (window[at] == '\n') ends[++rest] = at;
  }
  begin =
      AddLines(filled, window, begin, std::span(ends).first(1 + rest), records);
  if (!at_end) return begin;
  if (begin < window.size()) {
    ends[1] = window.size();
    AddLines(filled, window, begin, std::span(ends).first(2), records);
  }
  return window.size();
}

size_t FindQuotedLines(std::string_view window, bool at_end,
                       std::string_view comment, std::vector<Extent>& records) {
  size_t begin = 0;
  bool quoted = false;
  for (size_t k = 0; k < window.size(); ++k) {
    // Quotes of a comment are none.
    if (k == begin && !comment.empty() && !quoted &&
        window.substr(k).starts_with(comment)) {
      k = window.find('\n', k);
      if (k == window.npos) return at_end ? window.size() : begin;
      begin = k + 1;
      continue;
    }
    if (window[k] == '"') {
      quoted = !quoted;
    } else if (window[k] == '\n' && !quoted) {
      AddFilled(window, begin, k, records);
      begin = k + 1;
    }
  }
  // The rest of a window may be the beginning of a comment.
  if (!at_end) return begin;
  AddFilled(window, begin, window.size(), records);
  return window.size();
}

void DropComments(std::string_view window, std::string_view comment,
                  size_t first, std::vector<Extent>& records) {
  const auto is_comment = [&](const Extent& record) {
    return window.substr(record.begin, record.size).starts_with(comment);
  };
  records.erase(std::remove_if(records.begin() + static_cast<ptrdiff_t>(first),
                               records.end(), is_comment),
                records.end());
}

Framing::Properties LineProperties(LineFraming::Lines lines,
                                   const LineFraming::Options& options) {
  return {.envelope = lines == LineFraming::Lines::kAll
                          ? Framing::Envelope::kNewline
                          : Framing::Envelope::kNone,
          .first_is_header = options.first_is_header,
          .text = true,
          .skipped_lines = options.skipped_lines};
}

}  // namespace

LineFraming::LineFraming(Lines lines, Options options)
    : Framing(NumberedName(1 + static_cast<uint64_t>(lines),
                           LineProperties(lines, options)) +
                  options.comment,
              LineProperties(lines, options)),
      lines_(lines),
      comment_(std::move(options.comment)) {}

Framed LineFraming::FindRecords(std::string_view window, bool at_end,
                                const WindowPlace&,
                                std::vector<Extent>& records) const {
  if (lines_ == Lines::kQuoted) {
    return {FindQuotedLines(window, at_end, comment_, records), {}};
  }
  const size_t before = records.size();
  const size_t used =
      FindLines(lines_ == Lines::kFilled, window, at_end, records);
  if (!comment_.empty()) DropComments(window, comment_, before, records);
  return {used, {}};
}

absl::StatusOr<RecordIndex> LineFraming::Find(const RandomAccessFile& file,
                                              uint64_t size) const {
  if (lines_ != Lines::kAll) return Framing::Find(file, size);
  ReadAhead ahead(file, 0, size);
  RecordIndex index;
  index.offsets.push_back(0);
  bool returns = false;  // inside the first line
  bool last_is_return = false;
  std::vector<std::byte> window(std::min<uint64_t>(kFindBytes, size));
  for (uint64_t offset = 0; offset < size;) {
    const uint64_t want = std::min<uint64_t>(window.size(), size - offset);
    FM_RETURN_IF_ERROR(ReadStop::Check(file.name()));
    ahead.Reach(offset);
    FM_ASSIGN_OR_RETURN(const size_t got,
                        file.Read(offset, {window.data(), want}));
    if (got < want) return Shrank(file.name(), offset + got);
    const std::byte* const begin = window.data();
    const std::byte* const end = begin + got;
    if (offset == 0) {
      const std::string_view text(reinterpret_cast<const char*>(begin), got);
      NoteOtherFormat(file.name(), text);
      if (text.starts_with(kUtf8Mark)) index.offsets[0] = kUtf8Mark.size();
    }
    if (index.offsets.size() == 1) {
      const std::string_view text(reinterpret_cast<const char*>(begin), got);
      returns = returns ||
                (!text.empty() && text.front() != '\r' && last_is_return) ||
                HasReturnInside(text.substr(0, text.find('\n')));
      last_is_return = text.ends_with('\r');
    }
    for (const std::byte* at = begin; at < end; ++at) {
      at = static_cast<const std::byte*>(
          std::memchr(at, '\n', static_cast<size_t>(end - at)));
      if (at == nullptr) break;
      index.offsets.push_back(offset + static_cast<uint64_t>(at - begin) + 1);
    }
    offset += got;
  }
  if (index.offsets.size() == 1 && returns) return ReturnsAlone(file.name());
  if (index.offsets.back() != size) index.offsets.push_back(size);
  // A file with only the byte order mark has no line.
  if (index.offsets.size() == 1) index.offsets[0] = 0;
  return index;
}

absl::Status ReturnsAlone(const std::string& path) {
  return DataLoss(
      "{}: it has no \\n, and a \\r before its end: its lines end in \\r "
      "alone; convert it to lines that end in \\n, as with `tr '\\r' '\\n'`",
      path);
}

void NoteOtherFormat(const std::string& path, std::string_view beginning) {
  const std::string advice =
      FormatAdvice(beginning.substr(0, kCompressionBytes));
  if (advice.empty()) return;
  NoteDataWarning(DataWarning::kOtherFormat,
                  fmt::format("{}: {}", path, advice));
}

size_t DropNewlines(std::byte* values, std::span<int64_t> offsets) {
  int64_t to = 0;
  int64_t from = 0;
  for (int64_t& end : offsets.subspan(1)) {
    const int64_t next = end;
    int64_t size = next - from;
    if (size > 0 && values[next - 1] == std::byte{'\n'}) --size;
    if (to != from) {
      std::memmove(values + to, values + from, static_cast<size_t>(size));
    }
    to += size;
    from = next;
    end = to;
  }
  return static_cast<size_t>(to);
}

}  // namespace feedmill
