#include "core/dataset/shape_text.h"

#include <charconv>

#include "core/base/status.h"

namespace feedmill {
namespace {

constexpr size_t kTextRankMax = 8;

std::string_view WithoutSpaces(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Returns the place of the "[" that begins a shape: not the one of
// "timestamp[us]".
size_t ShapeBegin(std::string_view text) {
  const size_t bracket = text.find('[');
  const size_t next = text.find_first_not_of(' ', bracket + 1);
  const bool unit = bracket != text.npos && next != text.npos &&
                    std::string_view("smun").find(text[next]) != text.npos;
  return unit ? text.find('[', bracket + 1) : bracket;
}

}  // namespace

absl::Status ParseTypeText(std::string_view text, NamedType& type, Shape& shape,
                           Dims kind) {
  const size_t bracket = ShapeBegin(text);
  const std::string_view name = WithoutSpaces(text.substr(0, bracket));
  const std::optional<NamedType> found = TypeFromName(name);
  if (!found.has_value()) {
    return InvalidArgument(
        "there is no type \"{}\"; write str, bytes, int64, float32 or "
        "timestamp",
        name.substr(0, 40));
  }
  type = *found;
  shape.clear();
  if (bracket == std::string_view::npos) return absl::OkStatus();
  std::string_view dims = WithoutSpaces(text.substr(bracket));
  if (dims.back() != ']') {
    return InvalidArgument("the [ of \"{}\" is not closed", text.substr(0, 40));
  }
  dims = WithoutSpaces(dims.substr(1, dims.size() - 2));
  while (!dims.empty()) {
    const size_t comma = dims.find(',');
    const std::string_view dim = WithoutSpaces(dims.substr(0, comma));
    int64_t value = 0;
    const auto [stop, error] =
        std::from_chars(dim.data(), dim.data() + dim.size(), value);
    bool good = !dim.empty() && error == std::errc() &&
                stop == dim.data() + dim.size() && value >= 0;
    if (dim == "?" && kind == Dims::kMayBeUnknown) {
      value = kUnknownDim;
      good = true;
    }
    if (!good || shape.size() == kTextRankMax) {
      return InvalidArgument(
          "\"{}\" is not a type like float32[3, 2] of at most {} dimensions",
          text.substr(0, 40), kTextRankMax);
    }
    shape.push_back(value);
    if (comma == std::string_view::npos) break;
    dims = WithoutSpaces(dims.substr(comma + 1));
    if (dims.empty()) {
      return InvalidArgument("\"{}\" ends in a comma", text.substr(0, 40));
    }
  }
  return absl::OkStatus();
}

absl::Status ParseTypeText(std::string_view text, NamedType& type, Shape& shape,
                           std::optional<std::string>& default_text) {
  const size_t equals = text.find('=');
  FM_RETURN_IF_ERROR(
      ParseTypeText(text.substr(0, equals), type, shape, Dims::kMayBeUnknown));
  default_text.reset();
  if (equals == std::string_view::npos) return absl::OkStatus();
  if (!shape.empty() && shape[0] == kUnknownDim) {
    return InvalidArgument(
        "\"{}\" has a default, but a record without values has a list of "
        "length 0; leave the default out",
        text.substr(0, 40));
  }
  default_text = WithoutSpaces(text.substr(equals + 1));
  return absl::OkStatus();
}

}  // namespace feedmill
