#include "client/unused_pieces.h"

namespace feedmill {

void UnusedPieces::Add(IncomingSplit& split, uint64_t first_row,
                       const Piece& piece) {
  ++split.staged;
  pieces_.push_back({split.id, first_row, piece.chunk.rows, piece.begin,
                     piece.end, piece.cursors});
}

void UnusedPieces::Use(uint64_t rows, IncomingSplits& splits) {
  while (!pieces_.empty() && pieces_.front().first_row < rows) {
    const Pulled& first = pieces_.front();
    const uint64_t used = rows - first.first_row;
    IncomingSplit* const split = splits.Find(first.split);
    if (used < first.rows) {
      if (split != nullptr) {
        split->out =
            rules_.After(CursorOfRow(first.cursors, first.begin, used - 1));
      }
      return;
    }
    if (split != nullptr) {
      split->out = first.end;
      --split->staged;
    }
    pieces_.pop_front();
  }
}

}  // namespace feedmill
