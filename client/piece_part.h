#ifndef FEEDMILL_CLIENT_PIECE_PART_H_
#define FEEDMILL_CLIENT_PIECE_PART_H_

#include "core/chunk/cursor.h"
#include "core/chunk/piece.h"
#include "feedmill/chunk.h"

namespace feedmill {

// The part of a piece below `end`; workers never send more, but a frame comes
// from outside.
Piece PartBelow(Piece piece, Cursor end);

}  // namespace feedmill

#endif  // FEEDMILL_CLIENT_PIECE_PART_H_
