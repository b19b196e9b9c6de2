#ifndef FEEDMILL_CLIENT_INCOMING_SPLIT_H_
#define FEEDMILL_CLIENT_INCOMING_SPLIT_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/credit_window.h"
#include "core/chunk/cursor.h"
#include "core/chunk/piece.h"
#include "core/wire/message.h"

namespace feedmill {

// A worker's attempt at a split, as the session opened it.
struct IncomingStream {
  // Additional credit not used yet; it begins beyond this total.
  struct UnusedCredit {
    absl::Time since;
    uint64_t beyond;
  };

  Opening opening;
  Cursor start;
  uint64_t base = 0;  // bytes the split had received when it was opened
  // Last frame of this opening, or bytes of one, or time of the opening.
  absl::Time last;
  std::optional<Grant> granted;  // the last one sent
  // A generator's state that leads to `start`. Null after the first frame.
  GeneratorStatePtr state;
  std::optional<UnusedCredit> unused;
};

// A piece that was not pulled yet.
struct ArrivedPiece {
  Piece piece;
  uint64_t bytes = 0;
  absl::Time arrived;
};

// A split that is bound to the session.
struct IncomingSplit {
  SplitId id;
  Cursor begin;
  Cursor end;
  Cursor next;              // all before it was taken
  GeneratorStatePtr state;  // of a generator: the last one before `next`
  Cursor out;               // sharing readers: all before it was handed out
  std::deque<ArrivedPiece> buffer;
  // Element bytes since the split was bound: drained <= received <= allowed.
  uint64_t received = 0;
  uint64_t drained = 0;
  uint64_t allowed = 0;
  uint64_t staged = 0;   // pieces pulled, not handed out; sharing readers only
  bool stopped = false;  // ends with a data error
  absl::Status error;    // from the dispatcher: every attempt failed
  std::optional<SkippedElement> skip;  // from the dispatcher
  std::map<LeaseRef, IncomingStream> streams;

  bool taken() const { return next >= end; }
  uint64_t credit() const { return allowed - drained; }
  bool idle() const { return taken() && buffer.empty(); }

  void SetAllowed(uint64_t bytes, CreditWindow& window) {
    window.ChangeCredit(allowed, bytes);
    allowed = bytes;
  }
  // Returns the credit of bytes that left the buffer.
  void Drain(uint64_t bytes, CreditWindow& window) {
    drained += bytes;
    window.Drain(bytes);
  }
};

}  // namespace feedmill

#endif  // FEEDMILL_CLIENT_INCOMING_SPLIT_H_
