#ifndef FEEDMILL_CORE_BASE_DATE_TEXT_H_
#define FEEDMILL_CORE_BASE_DATE_TEXT_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/time/time.h"

// Dates and times in texts.

namespace feedmill {

inline constexpr int64_t kSecondsADay = 86'400;
inline constexpr int64_t kNanosASecond = 1'000'000'000;
inline constexpr int64_t kYearMax = 9999;

struct TimeUnit {
  std::string_view name;
  int64_t a_second;  // 0: a unit is a day
};

// The fields of a text, and where reading it stands.
struct DateText {
  std::string_view rest;
  int64_t year = 1900, month = 1, day = 1;
  int64_t year_day = 0;  // 0: none
  int64_t hour = 0, minute = 0, second = 0;
  int64_t nanos = 0;
  int64_t offset = 0;  // east of UTC, in seconds
  bool has_zone = false;
  bool twelve_hours = false;
  bool afternoon = false;

  bool Take(char c) {
    if (!rest.starts_with(c)) return false;
    rest.remove_prefix(1);
    return true;
  }
  // Reads `low` to `high` digits whose number is within [least, most].
  bool Number(size_t low, size_t high, int64_t least, int64_t most,
              int64_t& value) {
    size_t digits = 0;
    value = 0;
    while (digits < high && digits < rest.size() && rest[digits] >= '0' &&
           rest[digits] <= '9') {
      value = 10 * value + (rest[digits++] - '0');
    }
    rest.remove_prefix(digits);
    return digits >= low && value >= least && value <= most;
  }
  // Reads the first of `names`, of any case, that the text begins with.
  template <size_t n>
  std::optional<size_t> Name(const std::array<std::string_view, n>& names,
                             size_t letters) {
    for (size_t k = 0; k < n; ++k) {
      const std::string_view name = names[k].substr(0, letters);
      if (rest.size() < name.size() ||
          !std::equal(
              name.begin(), name.end(), rest.begin(),
              [](char a, char b) { return (a | 0x20) == (b | 0x20); })) {
        continue;
      }
      rest.remove_prefix(name.size());
      return k;
    }
    return std::nullopt;
  }
  bool Fraction(size_t digits_max) {
    const size_t before = rest.size();
    if (!Number(1, digits_max, 0, kNanosASecond - 1, nanos)) return false;
    for (size_t k = before - rest.size(); k < 9; ++k) nanos *= 10;
    return true;
  }
  bool Zone() {
    has_zone = true;
    if (Take('Z')) return true;
    const bool west = rest.starts_with('-');
    if (!Take('+') && !Take('-')) return false;
    int64_t hours = 0;
    int64_t minutes = 0;
    if (!Number(2, 2, 0, 23, hours)) return false;
    const bool colon = Take(':');
    const bool more =
        colon || (!rest.empty() && rest[0] >= '0' && rest[0] <= '9');
    if (more && !Number(2, 2, 0, 59, minutes)) return false;
    offset = (hours * 60 + minutes) * (west ? -60 : 60);
    return true;
  }
};

// Reads ISO 8601: 2024-02-29, 2024-02-29T23:59, 2024-02-29 23:59:59.5+01:00.
// False for other texts.
bool ReadIso(DateText& fields);

// Returns the time in units, rounded down; nullopt for no time, or one out of
// range. `zone`: where the text has none. A time that a clock skips or shows
// twice has the offset in front of the change.
std::optional<int64_t> TimeOf(const DateText& fields, const TimeUnit& unit,
                              const std::optional<absl::TimeZone>& zone);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_BASE_DATE_TEXT_H_
