#include "core/pipeline/piece_draft.h"

#include <cmath>
#include <cstring>

namespace feedmill {
namespace {

// Sets bit base + r for each kept input row r.
void SetBits(const BlockProgram::Output& rows, size_t base,
             std::vector<uint8_t>& bits) {
  const size_t words = rows.dropped ? rows.kept.size() : (rows.rows + 63) / 64;
  const size_t size = base / 8 + words * 8 + 1;
  if (bits.size() < size) bits.resize(size);
  uint8_t* to = bits.data() + base / 8;
  const unsigned shift = base % 8;
  for (size_t w = 0; w < words; ++w, to += 8) {
    const size_t left = rows.rows - w * 64;
    const uint64_t word = rows.dropped ? rows.kept[w]
                          : left < 64  ? (uint64_t{1} << left) - 1
                                       : ~uint64_t{0};
    uint64_t now;
    std::memcpy(&now, to, sizeof now);
    now |= word << shift;
    std::memcpy(to, &now, sizeof now);
    if (shift > 0) to[8] = static_cast<uint8_t>(to[8] | word >> (64 - shift));
  }
}

// For rows of one number, the fixed cost of a block matters, so blocks are
// larger.
constexpr size_t kNarrowBytes = sizeof(int64_t);
constexpr size_t kNarrowRows = 2 * kBlockRows;
constexpr size_t kViewRows = 16 * kBlockRows;

}  // namespace

size_t PieceDraft::RowsAhead(uint64_t left) const {
  const double row_bytes =
      scratch_.row_bytes > 0
          ? scratch_.row_bytes
          : static_cast<double>(std::max<size_t>(program_.estimated_bytes, 1));
  const double wanted = static_cast<double>(std::max(
                            sink.bytes_beyond(), bytes_target - sink.bytes())) /
                        row_bytes;
  const bool narrow =
      program_.estimated_bytes > 0 && program_.estimated_bytes <= kNarrowBytes;
  // Rows in mapped files that pass no step cost nothing each.
  const bool free = program_.records->empty() && scratch_.block.mapped();
  const size_t most = std::min(program_.heavy ? kHeavyRows
                               : free         ? kViewRows
                               : narrow       ? kNarrowRows
                                              : kBlockRows,
                               scratch_.rows_max);
  const size_t rows =
      wanted >= static_cast<double>(most)
          ? most
          : std::max<size_t>(
                1, static_cast<size_t>(program_.appends ? std::ceil(wanted)
                                                        : std::round(wanted)));
  return static_cast<size_t>(std::min<uint64_t>(rows, left));
}

void PieceDraft::AddRecords(uint64_t p, bool last) {
  sink.AddRecords(last);
  if (scratch_.records_out.rows > 0) NameRows(scratch_.records_out, p);
}

void PieceDraft::NameRows(const BlockProgram::Output& rows, uint64_t p) {
  if (program_.naming == StageProgram::Naming::kBitmap) {
    SetBits(rows, p - begin.p, bits);
  }
}

}  // namespace feedmill
