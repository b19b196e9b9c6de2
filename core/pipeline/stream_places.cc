#include "core/pipeline/stream_places.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/base/leb128.h"
#include "core/pipeline/held_rows.h"
#include "core/pipeline/row_groups.h"

namespace feedmill {
namespace {

// The first byte. Encodings of the second kind have held rows.
constexpr uint64_t kEncoding = 1;
constexpr uint64_t kWithRows = 2;
constexpr size_t kRowsPerByte = 64;  // maximum rows of a group per byte

void PutNumbers(std::string& bytes, const std::vector<uint64_t>& numbers) {
  PutLeb128(bytes, numbers.size());
  for (const uint64_t number : numbers) PutLeb128(bytes, number);
}

// Appends rows as a token does: the rows of groups follow each other.
void PutRows(std::string& bytes, const StageState::Step& step) {
  if (step.groups.empty()) {
    PutLeb128(bytes, step.held.size());
    for (const auto& held : step.held) PutHeld(*held, bytes);
    return;
  }
  PutLeb128(bytes, step.rows.empty() ? 0 : 1);
  if (!step.rows.empty()) PutHeld(HeldInOrder(step), bytes);
}

void PutPlace(std::string& bytes, const StreamPlace& place, bool with_rows) {
  PutLeb128(bytes, place.at.p);
  PutLeb128(bytes, place.at.i);
  PutLeb128(bytes, place.taken);
  PutLeb128(bytes, place.stage.position);
  PutLeb128(bytes, place.stage.steps.size());
  for (const StageState::Step& step : place.stage.steps) {
    PutLeb128(bytes, step.left);
    PutLeb128(bytes, step.made);
    PutNumbers(bytes, step.groups);
    if (with_rows) PutRows(bytes, step);
  }
  PutLeb128(bytes, place.state == nullptr ? 0 : 1);
  if (place.state == nullptr) return;
  PutLeb128(bytes, place.state->at.i);
  PutLeb128(bytes, place.state->bytes.size());
  bytes += place.state->bytes;
}

class PlaceReader {
 public:
  explicit PlaceReader(std::string_view bytes)
      : size_(bytes.size()), rest_(bytes) {}

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
  StreamPlace Place(bool with_rows) {
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
      if (with_rows) TakeRows(step);
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
  void TakeRows(StageState::Step& step) {
    for (uint64_t left = Count(); left > 0 && good_; --left) {
      std::optional<StageState::Held> held = TakeHeld(rest_);
      good_ = good_ && held.has_value();
      if (!good_) return;
      step.held.push_back(
          std::make_shared<const StageState::Held>(*std::move(held)));
    }
    good_ = good_ && ListGroupedRows(kRowsPerByte * size_, step);
  }

  const size_t size_;
  std::string_view rest_;
  bool good_ = true;
};

}  // namespace

std::string EncodePlace(const PassPlace& place) {
  std::string bytes;
  const bool with_rows = std::any_of(
      place.inputs.begin(), place.inputs.end(),
      [](const auto& input) { return HoldsRows(input.place.stage); });
  PutLeb128(bytes, with_rows ? kWithRows : kEncoding);
  PutNumbers(bytes, place.turns);
  PutLeb128(bytes, place.inputs.size());
  for (const PassPlace::Input& input : place.inputs) {
    PutLeb128(bytes, input.turn);
    PutPlace(bytes, input.place, with_rows);
  }
  return bytes;
}

std::optional<PassPlace> DecodePlace(std::string_view bytes) {
  PlaceReader reader(bytes);
  const uint64_t encoding = reader.Number();
  if (encoding != kEncoding && encoding != kWithRows) return std::nullopt;
  PassPlace place;
  place.turns = reader.Numbers();
  for (uint64_t left = reader.Count(); left > 0 && reader.good(); --left) {
    PassPlace::Input& input = place.inputs.emplace_back();
    input.turn = reader.Number();
    input.place = reader.Place(encoding == kWithRows);
  }
  if (!reader.done()) return std::nullopt;
  return place;
}

}  // namespace feedmill
