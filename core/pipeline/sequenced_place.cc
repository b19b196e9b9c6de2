#include "core/pipeline/sequenced_place.h"

#include <memory>
#include <optional>
#include <utility>

#include "core/pipeline/held_rows.h"
#include "core/pipeline/stream_places.h"

namespace feedmill {

GeneratorStatePtr SequencedState(const ReadPlace& place) {
  if (HeldBytes(place.stage) > kRowStateMax) return nullptr;
  // A place without steps is the first element's.
  if (place.stage.steps.empty() && place.cursor == Cursor{}) return nullptr;
  PassPlace pass;
  pass.turns = {0};  // of the only input
  pass.inputs.push_back(
      {0, {place.cursor, place.skip, place.stage, place.state}});
  GeneratorState state{{0, place.elements}, EncodePlace(pass)};
  if (state.bytes.size() > kRowStateMax) return nullptr;
  return std::make_shared<const GeneratorState>(std::move(state));
}

ReadPlace PlaceFromState(uint64_t number, const GeneratorStatePtr& state) {
  ReadPlace place;
  place.elements = place.skip = number;
  if (state == nullptr) return place;
  std::optional<PassPlace> pass = DecodePlace(state->bytes);
  if (!pass || pass->inputs.size() != 1) return place;
  StreamPlace& at = pass->inputs[0].place;
  place.cursor = at.at;
  place.skip = at.taken + (number - state->at.i);
  place.stage = std::move(at.stage);
  place.state = std::move(at.state);
  return place;
}

}  // namespace feedmill
