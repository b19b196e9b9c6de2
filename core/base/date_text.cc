#include "core/base/date_text.h"

#include <chrono>

#include "absl/time/civil_time.h"

namespace feedmill {
namespace {

// Returns the days from 1970-01-01 to the date; nullopt for no date.
std::optional<int64_t> DaysOf(const DateText& fields) {
  namespace chrono = std::chrono;
  const chrono::year year(static_cast<int>(fields.year));
  if (fields.year_day > 0) {
    if (fields.year_day == 366 && !year.is_leap()) return std::nullopt;
    const chrono::sys_days first = year / chrono::January / 1;
    return first.time_since_epoch().count() + fields.year_day - 1;
  }
  const chrono::year_month_day date(
      year, chrono::month(static_cast<unsigned>(fields.month)),
      chrono::day(static_cast<unsigned>(fields.day)));
  if (!date.ok()) return std::nullopt;
  return chrono::sys_days(date).time_since_epoch().count();
}

}  // namespace

bool ReadIso(DateText& fields) {
  if (!fields.Number(4, 4, 1, kYearMax, fields.year) || !fields.Take('-') ||
      !fields.Number(2, 2, 1, 12, fields.month) || !fields.Take('-') ||
      !fields.Number(2, 2, 1, 31, fields.day)) {
    return false;
  }
  if (fields.rest.empty()) return true;
  if ((!fields.Take('T') && !fields.Take(' ')) ||
      !fields.Number(2, 2, 0, 23, fields.hour) || !fields.Take(':') ||
      !fields.Number(2, 2, 0, 59, fields.minute)) {
    return false;
  }
  if (fields.Take(':')) {
    if (!fields.Number(2, 2, 0, 59, fields.second)) return false;
    if ((fields.Take('.') || fields.Take(',')) && !fields.Fraction(9)) {
      return false;
    }
  }
  return fields.rest.empty() || (fields.Zone() && fields.rest.empty());
}

std::optional<int64_t> TimeOf(const DateText& fields, const TimeUnit& unit,
                              const std::optional<absl::TimeZone>& zone) {
  const std::optional<int64_t> days = DaysOf(fields);
  if (!days) return std::nullopt;
  int64_t hour = fields.hour;
  if (fields.twelve_hours) hour = hour % 12 + (fields.afternoon ? 12 : 0);
  int64_t seconds = *days * kSecondsADay + hour * 3600 + fields.minute * 60 +
                    fields.second - fields.offset;
  if (zone && !fields.has_zone) {
    seconds = absl::ToUnixSeconds(zone->At(absl::CivilSecond() + seconds).pre);
  }
  if (unit.a_second == 0) {
    return seconds / kSecondsADay - (seconds % kSecondsADay < 0 ? 1 : 0);
  }
  int64_t time = 0;
  if (__builtin_mul_overflow(seconds, unit.a_second, &time) ||
      __builtin_add_overflow(
          time, fields.nanos / (kNanosASecond / unit.a_second), &time)) {
    return std::nullopt;
  }
  return time;
}

}  // namespace feedmill
