#include "client/piece_part.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace feedmill {

Piece PartBelow(Piece piece, Cursor end) {
  if (piece.end <= end) return piece;
  const size_t rows =
      piece.begin < end
          ? RowsBelow(piece.cursors, piece.chunk.rows, piece.begin, end)
          : 0;
  piece.chunk = piece.chunk.Slice(0, rows);
  piece.error = absl::OkStatus();
  if (piece.skipped && end <= piece.skipped->cursor) piece.skipped.reset();
  piece.end = std::max(piece.begin, end);
  piece.state = StateFor(std::move(piece.state), piece.end);
  if (auto* form = std::get_if<BitmapRows>(&piece.cursors)) {
    const uint64_t bits = piece.end.p - piece.begin.p + (end.i > 0 ? 1 : 0);
    if (bits < form->bits.size() * 8) {
      form->bits.resize((bits + 7) / 8);
      if (bits % 8 != 0) {
        form->bits.back() &= static_cast<uint8_t>((1U << (bits % 8)) - 1);
      }
    }
  } else if (auto* runs = std::get_if<RunRows>(&piece.cursors)) {
    std::erase_if(runs->runs, [&](const CursorRun& run) {
      return !(Cursor{run.p, run.i} < end);
    });
    if (!runs->runs.empty() && runs->runs.back().p == end.p) {
      CursorRun& last = runs->runs.back();
      last.count = std::min(last.count, end.i - last.i);
    }
  }
  return piece;
}

}  // namespace feedmill
