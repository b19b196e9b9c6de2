#include "client/session_rules.h"

namespace feedmill {

absl::Time SessionRules::RenewedFrom(absl::Time sent, absl::Time) const {
  return sent;
}

bool SessionRules::IsValid(absl::Time now, absl::Time end) const {
  return now < end;
}

std::optional<Piece> SessionRules::NewPart(Cursor next, Piece piece) const {
  if (next < piece.begin) return std::nullopt;  // a gap
  const bool news =
      next < piece.end || (next == piece.end && !piece.error.ok());
  if (!news) return std::nullopt;
  if (piece.begin == next) return piece;
  return piece.From(next);
}

bool SessionRules::Reserve(uint64_t& allowed, uint64_t received,
                           bool empty) const {
  if (empty && allowed <= received) allowed = received + 1;
  return true;
}

Cursor SessionRules::After(Cursor cursor) const {
  return {cursor.p, cursor.i + 1};
}

bool SessionRules::HandsOutShortBatches() const { return true; }

bool SessionRules::EndKnown(const RunInfo& run) const {
  return run.settled && run.positions != kInfinitePositions;
}

bool SessionRules::WaitsToSettle() const { return true; }

bool SessionRules::AwaitsIteration(const ClientAnswer& answer,
                                   bool /*has_run*/) const {
  return !answer.run.has_value();
}

}  // namespace feedmill
