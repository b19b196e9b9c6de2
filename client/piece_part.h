#ifndef FEEDMILL_CLIENT_PIECE_PART_H_
#define FEEDMILL_CLIENT_PIECE_PART_H_

#include "core/chunk/cursor.h"
#include "core/chunk/piece.h"
#include "feedmill/element.h"

namespace feedmill {

// Returns the part of a piece below `end`. Workers never send more, but frames
// are untrusted.
Piece PartBelow(Piece piece, Cursor end);

}  // namespace feedmill

#endif  // FEEDMILL_CLIENT_PIECE_PART_H_
