#include "core/plan/stream_turns.h"

namespace feedmill {

std::optional<StreamTurns::Turn> StreamTurns::Turn::Without(
    TurnStreams::Next look, size_t input) {
  if (look == TurnStreams::Next::kBad) return Turn{Kind::kBad, input};
  if (look == TurnStreams::Next::kLeftOut) return Turn{Kind::kLeftOut, input};
  return std::nullopt;
}

}  // namespace feedmill
