#include "core/dataset/graph_place.h"

#include <charconv>
#include <string_view>
#include <utility>

#include "absl/strings/cord.h"
#include "core/base/status.h"

namespace feedmill {
namespace {

constexpr char kPlacePayload[] = "feedmill/graph_place";

// Encodes a place: "2/0/s5" is step 5 of inputs[0] of inputs[2]; "2/0/s" its
// source.
std::string EncodePlace(const GraphPlace& place) {
  std::string out;
  for (const size_t input : place.inputs) out += fmt::format("{}/", input);
  out += "s";
  if (place.step) out += fmt::format("{}", *place.step);
  return out;
}

std::optional<size_t> ParseIndex(std::string_view text) {
  size_t number = 0;
  const auto [stop, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || stop != text.data() + text.size()) {
    return std::nullopt;
  }
  return number;
}

absl::Status AtPlace(absl::Status status, const GraphPlace& place) {
  if (!status.ok() && !GraphPlaceOf(status).has_value()) {
    status.SetPayload(kPlacePayload, absl::Cord(EncodePlace(place)));
  }
  return status;
}

}  // namespace

absl::Status AtStep(absl::Status status, size_t step) {
  return AtPlace(std::move(status), {{}, step});
}

absl::Status AtSource(absl::Status status) {
  return AtPlace(std::move(status), {});
}

absl::Status AtInput(const absl::Status& status, size_t input,
                     const std::string& where) {
  GraphPlace place = GraphPlaceOf(status).value_or(GraphPlace());
  place.inputs.insert(place.inputs.begin(), input);
  return AtPlace(Annotate(status, where), place);
}

std::optional<GraphPlace> GraphPlaceOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kPlacePayload);
  if (!payload.has_value()) return std::nullopt;
  const std::string text(*payload);
  std::string_view left = text;
  GraphPlace place;
  for (size_t slash = left.find('/'); slash != left.npos;
       slash = left.find('/')) {
    const std::optional<size_t> input = ParseIndex(left.substr(0, slash));
    if (!input) return std::nullopt;
    place.inputs.push_back(*input);
    left.remove_prefix(slash + 1);
  }
  if (!left.starts_with('s')) return std::nullopt;
  left.remove_prefix(1);
  if (left.empty()) return place;
  place.step = ParseIndex(left);
  if (!place.step) return std::nullopt;
  return place;
}

int GraphLines::Of(const GraphPlace& place) const {
  const GraphLines* at = this;
  for (const size_t input : place.inputs) {
    if (input >= at->inputs.size()) return at->source;
    at = &at->inputs[input];
  }
  if (!place.step) return at->source;
  return *place.step < at->steps.size() ? at->steps[*place.step] : at->source;
}

}  // namespace feedmill
