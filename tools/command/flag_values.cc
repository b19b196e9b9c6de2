#include <charconv>
#include <limits>

#include "core/base/status.h"
#include "tools/command/flags.h"

namespace feedmill {

absl::StatusOr<absl::Duration> ParsePositiveDuration(const std::string& text) {
  absl::Duration duration;
  if (!absl::ParseDuration(text, &duration)) {
    return InvalidArgument(
        "'{}' is not a duration; write a number and a unit: 200ms, 20s, 5m, 1h",
        text);
  }
  if (duration <= absl::ZeroDuration()) {
    return InvalidArgument("'{}' must be longer than zero", text);
  }
  return duration;
}

absl::StatusOr<uint64_t> ParseBytes(const std::string& text) {
  const auto wrong = [&] {
    return InvalidArgument(
        "'{}' is not a size; write bytes or a number with KiB, MiB or GiB: "
        "256MiB",
        text);
  };
  uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{}) return wrong();
  const std::string_view unit(rest, static_cast<size_t>(end - rest));
  int shift = 0;
  if (unit == "KiB") {
    shift = 10;
  } else if (unit == "MiB") {
    shift = 20;
  } else if (unit == "GiB") {
    shift = 30;
  } else if (!unit.empty() && unit != "B") {
    return wrong();
  }
  if (number == 0) return InvalidArgument("'{}' must be above zero", text);
  if (number > std::numeric_limits<uint64_t>::max() >> (shift + 1)) {
    return InvalidArgument("'{}' is more than any machine has", text);
  }
  return number << shift;
}

absl::StatusOr<uint64_t> ParseCount(const std::string& text, uint64_t min,
                                    uint64_t max) {
  uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc{} && rest == end && number >= min && number <= max) {
    return number;
  }
  if (max == std::numeric_limits<uint64_t>::max()) {
    return InvalidArgument("'{}' is not a whole number of at least {}", text,
                           min);
  }
  return InvalidArgument("'{}' is not a whole number from {} to {}", text, min,
                         max);
}

absl::StatusOr<std::pair<uint64_t, uint64_t>> ParseRange(
    const std::string& text, uint64_t min, uint64_t max) {
  const size_t dots = text.find("..");
  const auto least = ParseCount(text.substr(0, dots), min, max);
  const auto most =
      dots == text.npos ? least : ParseCount(text.substr(dots + 2), min, max);
  if (least.ok() && most.ok() && *least <= *most) {
    return std::pair(*least, *most);
  }
  return InvalidArgument(
      "'{}' is not a whole number from {} to {}, or a range of them, such as "
      "{}..{}",
      text, min, max, min, std::min<uint64_t>(max, min + 7));
}

std::string FormatRange(uint64_t least, uint64_t most) {
  return least == most ? fmt::format("{}", least)
                       : fmt::format("{}..{}", least, most);
}

std::string FormatBytes(uint64_t bytes) {
  constexpr std::string_view kUnits[] = {"", "KiB", "MiB", "GiB"};
  size_t unit = 0;
  while (unit < 3 && bytes != 0 && bytes % 1024 == 0) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{}{}", bytes, kUnits[unit]);
}

}  // namespace feedmill
