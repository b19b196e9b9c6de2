#include "core/pipeline/stream_places.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/base/leb128.h"

namespace feedmill {
namespace {

// The first byte, so that other encodings can follow.
constexpr uint64_t kEncoding = 1;

void PutNumbers(std::string& bytes, const std::vector<uint64_t>& numbers) {
  PutLeb128(bytes, numbers.size());
  for (const uint64_t number : numbers) PutLeb128(bytes, number);
}

void PutPlace(std::string& bytes, const StreamPlace& place) {
  PutLeb128(bytes, place.at.p);
  PutLeb128(bytes, place.at.i);
  PutLeb128(bytes, place.taken);
  PutLeb128(bytes, place.stage.position);
  PutLeb128(bytes, place.stage.steps.size());
  for (const StageState::Step& step : place.stage.steps) {
    PutLeb128(bytes, step.left);
    PutLeb128(bytes, step.made);
    PutNumbers(bytes, step.groups);
  }
  PutLeb128(bytes, place.state == nullptr ? 0 : 1);
  if (place.state == nullptr) return;
  PutLeb128(bytes, place.state->at.i);
  PutLeb128(bytes, place.state->bytes.size());
  bytes += place.state->bytes;
}

class PlaceReader {
 public:
  explicit PlaceReader(std::string_view bytes) : rest_(bytes) {}

  bool good() const { return good_; }
  bool done() const { return good_ && rest_.empty(); }

  uint64_t Number() {
    const std::optional<uint64_t> number = TakeLeb128(rest_);
    good_ = good_ && number.has_value();
    return good_ ? *number : 0;
  }
  // A number of things that have at least a byte each.
  uint64_t Count() {
    const uint64_t count = Number();
    good_ = good_ && count <= rest_.size();
    return good_ ? count : 0;
  }
  std::vector<uint64_t> Numbers() {
    std::vector<uint64_t> numbers;
    for (uint64_t left = Count(); left > 0 && good_; --left) {
      numbers.push_back(Number());
    }
    return numbers;
  }
  StreamPlace Place() {
    StreamPlace place;
    place.at.p = Number();
    place.at.i = Number();
    place.taken = Number();
    place.stage.position = Number();
    for (uint64_t left = Count(); left > 0 && good_; --left) {
      StageState::Step& step = place.stage.steps.emplace_back();
      step.left = Number();
      step.made = Number();
      step.groups = Numbers();
    }
    if (Number() == 0) return place;
    auto state = std::make_shared<GeneratorState>();
    state->at = {place.at.p, Number()};
    const uint64_t size = Count();
    state->bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    good_ = good_ && state->LeadsTo(place.at);
    place.state = std::move(state);
    return place;
  }

 private:
  std::string_view rest_;
  bool good_ = true;
};

}  // namespace

bool HoldsNoRows(const StageState& stage) {
  return std::all_of(stage.steps.begin(), stage.steps.end(),
                     [](const auto& step) { return step.held.empty(); });
}

std::string EncodePlace(const PassPlace& place) {
  std::string bytes;
  PutLeb128(bytes, kEncoding);
  PutNumbers(bytes, place.turns);
  PutLeb128(bytes, place.inputs.size());
  for (const PassPlace::Input& input : place.inputs) {
    PutLeb128(bytes, input.turn);
    PutPlace(bytes, input.place);
  }
  return bytes;
}

std::optional<PassPlace> DecodePlace(std::string_view bytes) {
  PlaceReader reader(bytes);
  if (reader.Number() != kEncoding) return std::nullopt;
  PassPlace place;
  place.turns = reader.Numbers();
  for (uint64_t left = reader.Count(); left > 0 && reader.good(); --left) {
    PassPlace::Input& input = place.inputs.emplace_back();
    input.turn = reader.Number();
    input.place = reader.Place();
  }
  if (!reader.done()) return std::nullopt;
  return place;
}

}  // namespace feedmill
