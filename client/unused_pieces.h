#ifndef FEEDMILL_CLIENT_UNUSED_PIECES_H_
#define FEEDMILL_CLIENT_UNUSED_PIECES_H_

#include <cstdint>
#include <deque>

#include "client/incoming_splits.h"
#include "client/session_rules.h"
#include "core/chunk/cursor.h"
#include "core/chunk/piece.h"
#include "core/wire/message.h"

namespace feedmill {

// The pieces that a sharing reader pulled and whose rows its application has
// not all used: their names, without the rows. Pure.
class UnusedPieces {
 public:
  // `rules` must outlive this object.
  explicit UnusedPieces(const SessionRules& rules) : rules_(rules) {}

  // Adds a piece of the split. `first_row`: the rows of all earlier pieces.
  void Add(IncomingSplit& split, uint64_t first_row, const Piece& piece);
  // The application has used the first `rows` of all rows: the splits are
  // handed out up to there.
  void Use(uint64_t rows, IncomingSplits& splits);
  void Clear() { pieces_.clear(); }
  bool empty() const { return pieces_.empty(); }

 private:
  struct Pulled {
    SplitId split;
    uint64_t first_row = 0;
    uint64_t rows = 0;
    Cursor begin;
    Cursor end;
    RowCursors cursors;
  };

  const SessionRules& rules_;
  std::deque<Pulled> pieces_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CLIENT_UNUSED_PIECES_H_
