#ifndef FEEDMILL_CLIENT_SESSION_RULES_H_
#define FEEDMILL_CLIENT_SESSION_RULES_H_

#include <cstdint>
#include <optional>

#include "absl/time/time.h"
#include "core/chunk/cursor.h"
#include "core/chunk/piece.h"
#include "core/wire/message.h"

namespace feedmill {

// Decisions of the delivery protocol that a reader makes.
// tests/model/README.md explains the rules. The simulator overrides single
// decisions to plant bugs; see tests/sim/planted_bugs.h.
class SessionRules {
 public:
  virtual ~SessionRules() = default;

  // Returns the time from which an acknowledged heartbeat renews the lease. Not
  // `received`: the process may have been frozen before it (rule 24).
  virtual absl::Time RenewedFrom(absl::Time sent, absl::Time received) const;
  // True if a lease that ends at `end` is valid (rule 24).
  virtual bool IsValid(absl::Time now, absl::Time end) const;
  // Returns the new part of a piece, for a split that has all before `next`
  // (rule 11).
  virtual std::optional<Piece> NewPart(Cursor next, Piece piece) const;
  // Gives the head split credit for at least one frame (rule 14). False: its
  // grant does not say that it is the head.
  virtual bool Reserve(uint64_t& allowed, uint64_t received, bool empty) const;
  // Returns the cursor just after an element's (rule 16).
  virtual Cursor After(Cursor cursor) const;
  // True if a sharing reader without a piece hands out short batches (rule 19).
  virtual bool HandsOutShortBatches() const;
  // True if the run's last position is known (rule 27).
  virtual bool EndKnown(const RunInfo& run) const;
  // True if elements of the second pass are released only when the number
  // of passes is final (P-190).
  virtual bool WaitsToSettle() const;
  // True if ranks that an answer names have not finished the iteration before
  // this session's own. False: the dispatcher asks them how far they are, since
  // it was restarted, or readers continue a run that it does not know.
  // `has_run`: this session had a run before.
  virtual bool AwaitsIteration(const ClientAnswer& answer, bool has_run) const;
};

}  // namespace feedmill

#endif  // FEEDMILL_CLIENT_SESSION_RULES_H_
