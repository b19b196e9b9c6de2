#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/civil_time.h"
#include "absl/time/time.h"
#include "core/base/date_text.h"
#include "core/base/status.h"
#include "core/ops/function_families.h"
#include "core/ops/map_bytes.h"
#include "core/ops/row_items.h"
#include "core/ops/shown_text.h"

// Points in time are integers: days, seconds, … since 1970-01-01 00:00 UTC.

namespace feedmill {
namespace {

using std::string_view;

// ---- units

constexpr std::array<TimeUnit, 5> kUnits = {{{"d", 0},
                                             {"s", 1},
                                             {"ms", 1'000},
                                             {"us", 1'000'000},
                                             {"ns", kNanosASecond}}};

// Returns the unit that argument `place` names, seconds if it is left out.
absl::StatusOr<TimeUnit> UnitAt(string_view function, size_t place,
                                std::span<const ValueType* const> types) {
  if (types.size() <= place) return kUnits[1];
  FM_ASSIGN_OR_RETURN(
      const std::string name,
      ConstantText(fmt::format("{}: the unit", function), *types[place]));
  for (const TimeUnit& unit : kUnits) {
    if (unit.name == name) return unit;
  }
  return InvalidArgument("{}: the unit '{}' is none of d, s, ms, us and ns",
                         function, name);
}

// ---- zones

// Returns the zone that argument `place` names; nullopt if it is left out.
absl::StatusOr<std::optional<absl::TimeZone>> ZoneAt(
    string_view function, size_t place, const TimeUnit& unit,
    std::span<const ValueType* const> types) {
  if (types.size() <= place) return std::nullopt;
  FM_ASSIGN_OR_RETURN(
      const std::string name,
      ConstantText(fmt::format("{}: the zone", function), *types[place]));
  absl::TimeZone zone;
  if (!absl::LoadTimeZone(name, &zone)) {
    return InvalidArgument(
        "{}: this machine knows no zone '{}'; zones are like 'Europe/Berlin', "
        "from the package tzdata",
        function, name);
  }
  if (unit.a_second > 0) return zone;
  return InvalidArgument("{}: days have no zone; use the unit 's'", function);
}

// ---- formats

// One part of a format: a directive, or a character of the text.
struct FormatPart {
  char directive = 0;  // 0: the character; ' ': white space
  char character = 0;
};
using Format = std::vector<FormatPart>;

constexpr string_view kDirectives = "YymdjHIMSfpzbBaA";

absl::StatusOr<Format> FormatOf(string_view text) {
  Format format;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == ' ' || (text[at] >= '\t' && text[at] <= '\r')) {
      if (format.empty() || format.back().directive != ' ') {
        format.push_back({' ', 0});
      }
    } else if (text[at] != '%') {
      format.push_back({0, text[at]});
    } else if (++at < text.size() && text[at] == '%') {
      format.push_back({0, '%'});
    } else if (at < text.size() &&
               kDirectives.find(text[at]) != string_view::npos) {
      format.push_back({text[at], 0});
    } else {
      return InvalidArgument(
          "parse_date: the format '{}' has %{}; there are %Y %y %m %d %j %H %I "
          "%M %S %f %p %z %b %B %a %A and %%",
          text, text.substr(std::min(at, text.size()), 1));
    }
  }
  return format;
}

// ---- reading

constexpr std::array<string_view, 12> kMonths = {
    "january", "february", "march",     "april",   "may",      "june",
    "july",    "august",   "september", "october", "november", "december"};
constexpr std::array<string_view, 7> kDays = {
    "monday", "tuesday",  "wednesday", "thursday",
    "friday", "saturday", "sunday"};
constexpr std::array<string_view, 2> kHalves = {"am", "pm"};

bool ReadDirective(char directive, DateText& fields) {
  switch (directive) {
    case 'Y':
      return fields.Number(4, 4, 1, kYearMax, fields.year);
    case 'y': {
      if (!fields.Number(2, 2, 0, 99, fields.year)) return false;
      fields.year += fields.year < 69 ? 2000 : 1900;
      return true;
    }
    case 'm':
      return fields.Number(1, 2, 1, 12, fields.month);
    case 'd':
      return fields.Number(1, 2, 1, 31, fields.day);
    case 'j':
      return fields.Number(1, 3, 1, 366, fields.year_day);
    case 'H':
      return fields.Number(1, 2, 0, 23, fields.hour);
    case 'I':
      fields.twelve_hours = true;
      return fields.Number(1, 2, 1, 12, fields.hour);
    case 'M':
      return fields.Number(1, 2, 0, 59, fields.minute);
    case 'S':
      return fields.Number(1, 2, 0, 59, fields.second);
    case 'f':
      return fields.Fraction(9);
    case 'z':
      return fields.Zone();
    case 'p': {
      const auto half = fields.Name(kHalves, 2);
      fields.afternoon = half == 1;
      return half.has_value();
    }
    case 'b':
    case 'B': {
      const auto month = fields.Name(kMonths, directive == 'b' ? 3 : 9);
      if (month) fields.month = static_cast<int64_t>(*month) + 1;
      return month.has_value();
    }
    default:  // %a, %A: the date says which day it is
      return fields.Name(kDays, directive == 'a' ? 3 : 9).has_value();
  }
}

bool ReadFormat(const Format& format, DateText& fields) {
  for (const FormatPart& part : format) {
    if (part.directive == ' ') {
      const size_t text = fields.rest.find_first_not_of(" \t\n\v\f\r");
      if (text == 0 || fields.rest.empty()) return false;
      fields.rest.remove_prefix(std::min(text, fields.rest.size()));
    } else if (part.directive == 0 ? !fields.Take(part.character)
                                   : !ReadDirective(part.directive, fields)) {
      return false;
    }
  }
  return fields.rest.empty();
}

// ---- parse_date

// The constants of a call of parse_date.
struct DateCall {
  std::string text = "iso";
  Format format;  // empty: ISO 8601
  TimeUnit unit;
  std::optional<absl::TimeZone> zone;
};
absl::StatusOr<DateCall> DateCallOf(std::span<const ValueType* const> types) {
  DateCall call;
  if (types.size() > 1) {
    FM_ASSIGN_OR_RETURN(call.text,
                        ConstantText("parse_date: the format", *types[1]));
  }
  if (call.text != "iso") {
    FM_ASSIGN_OR_RETURN(call.format, FormatOf(call.text));
    if (call.format.empty()) {
      return InvalidArgument("parse_date: the format is empty");
    }
  }
  FM_ASSIGN_OR_RETURN(call.unit, UnitAt("parse_date", 2, types));
  FM_ASSIGN_OR_RETURN(call.zone, ZoneAt("parse_date", 3, call.unit, types));
  return call;
}

absl::StatusOr<ValueType> InferParseDate(const std::vector<ValueType>& given) {
  if (given.empty() || given.size() > 4) {
    FM_RETURN_IF_ERROR(ExpectArguments("parse_date", given.size(), 2));
  }
  FM_RETURN_IF_ERROR(DateCallOf(TypesOf(given)).status());
  return BytesLike("parse_date", given[0], DType::kInt64);
}

absl::Status ComputeParseDate(std::span<const Argument> arguments, size_t rows,
                              const ValueType& type, OutputColumn& out) {
  FM_ASSIGN_OR_RETURN(const DateCall call, DateCallOf(TypesOf(arguments)));
  return MapBytesTo<int64_t>(
      arguments[0], rows, type, out,
      [&call](string_view text, int64_t& to) -> absl::Status {
        DateText fields{.rest = text};
        const bool read = call.format.empty() ? ReadIso(fields)
                                              : ReadFormat(call.format, fields);
        const std::optional<int64_t> time =
            read ? TimeOf(fields, call.unit, call.zone) : std::nullopt;
        if (!time) {
          return DataLoss("parse_date: \"{}\" is no time as '{}'{}",
                          ShownText(text), call.text,
                          read ? fmt::format(" in {}", call.unit.name) : "");
        }
        to = *time;
        return absl::OkStatus();
      });
}

// ---- date_part

enum class DatePart {
  kYear,
  kMonth,
  kDay,
  kHour,
  kMinute,
  kSecond,
  kWeekday,
  kYearDay
};
constexpr std::array<std::pair<string_view, DatePart>, 8> kParts = {
    {{"year", DatePart::kYear},
     {"month", DatePart::kMonth},
     {"day", DatePart::kDay},
     {"hour", DatePart::kHour},
     {"minute", DatePart::kMinute},
     {"second", DatePart::kSecond},
     {"weekday", DatePart::kWeekday},
     {"yearday", DatePart::kYearDay}}};

absl::StatusOr<DatePart> PartOf(const ValueType& type) {
  FM_ASSIGN_OR_RETURN(const std::string name,
                      ConstantText("date_part: the part", type));
  for (const auto& [known, part] : kParts) {
    if (known == name) return part;
  }
  return InvalidArgument(
      "date_part: the part '{}' is none of year, month, day, hour, minute, "
      "second, weekday and yearday",
      name);
}

// Returns a part of the date; nullopt outside years 1 to 9999.
std::optional<int64_t> DatePartOf(int64_t days, DatePart part) {
  namespace chrono = std::chrono;
  constexpr chrono::sys_days kFirst = chrono::year(1) / 1 / 1;
  constexpr chrono::sys_days kLast = chrono::year(kYearMax) / 12 / 31;
  if (days < kFirst.time_since_epoch().count() ||
      days > kLast.time_since_epoch().count()) {
    return std::nullopt;
  }
  const chrono::sys_days day{chrono::days(days)};
  const chrono::year_month_day date(day);
  switch (part) {
    case DatePart::kYear:
      return static_cast<int>(date.year());
    case DatePart::kMonth:
      return static_cast<unsigned>(date.month());
    case DatePart::kDay:
      return static_cast<unsigned>(date.day());
    case DatePart::kWeekday:
      return chrono::weekday(day).iso_encoding() - 1;
    default:
      return (day - chrono::sys_days(date.year() / 1 / 1)).count() + 1;
  }
}

// Divides and rounds down.
int64_t FloorDivide(int64_t a, int64_t b) {
  return a / b - (a % b < 0 ? 1 : 0);
}

std::optional<int64_t> PartOfTime(int64_t time, DatePart part,
                                  const TimeUnit& unit) {
  if (unit.a_second == 0) {
    const bool within = part == DatePart::kHour || part == DatePart::kMinute ||
                        part == DatePart::kSecond;
    return within ? 0 : DatePartOf(time, part);
  }
  const int64_t seconds = FloorDivide(time, unit.a_second);
  const int64_t days = FloorDivide(seconds, kSecondsADay);
  const int64_t second = seconds - days * kSecondsADay;
  switch (part) {
    case DatePart::kHour:
      return second / 3600;
    case DatePart::kMinute:
      return second / 60 % 60;
    case DatePart::kSecond:
      return second % 60;
    default:
      return DatePartOf(days, part);
  }
}

std::optional<int64_t> PartInZone(int64_t time, DatePart part,
                                  const TimeUnit& unit,
                                  const absl::TimeZone& zone) {
  const int64_t seconds = FloorDivide(time, unit.a_second);
  const int offset = zone.At(absl::FromUnixSeconds(seconds)).offset;
  return PartOfTime(seconds + offset, part, kUnits[1]);
}

absl::StatusOr<ValueType> InferDatePart(const std::vector<ValueType>& given) {
  if (given.size() != 3 && given.size() != 4) {
    FM_RETURN_IF_ERROR(ExpectArguments("date_part", given.size(), 2));
  }
  if (!IsInteger(given[0].dtype)) {
    return InvalidArgument("date_part: the time is {}, not an integer",
                           DTypeName(given[0].dtype));
  }
  FM_RETURN_IF_ERROR(PartOf(given[1]).status());
  FM_ASSIGN_OR_RETURN(const TimeUnit unit,
                      UnitAt("date_part", 2, TypesOf(given)));
  FM_RETURN_IF_ERROR(ZoneAt("date_part", 3, unit, TypesOf(given)).status());
  ValueType result;
  result.shape = given[0].shape;
  return result;
}

absl::Status ComputeDatePart(std::span<const Argument> arguments, size_t rows,
                             const ValueType& type, OutputColumn& out) {
  FM_ASSIGN_OR_RETURN(const DatePart part, PartOf(*arguments[1].type));
  FM_ASSIGN_OR_RETURN(const TimeUnit unit,
                      UnitAt("date_part", 2, TypesOf(arguments)));
  FM_ASSIGN_OR_RETURN(const auto zone,
                      ZoneAt("date_part", 3, unit, TypesOf(arguments)));
  CopyRowShapes(arguments[0], rows, type, out);
  const Column& from = *arguments[0].column;
  return VisitNumeric(from.dtype, [&](auto zero) -> absl::Status {
    using T = decltype(zero);
    for (size_t row = 0; row < rows; ++row) {
      for (const T item : from.Items<T>(RowOf(arguments[0], row))) {
        const auto time = static_cast<int64_t>(item);
        const auto found = zone ? PartInZone(time, part, unit, *zone)
                                : PartOfTime(time, part, unit);
        if (!found) {
          out.failed_row = row;
          return DataLoss("date_part: {} {} is outside the years 1 to {}", time,
                          unit.name, kYearMax);
        }
        out.values.Push(*found);
      }
    }
    return absl::OkStatus();
  });
}

}  // namespace

void AddDateFunctions(FunctionRegistry& registry) {
  registry.Add("parse_date", {InferParseDate, ComputeParseDate});
  registry.Add("date_part", {InferDatePart, ComputeDatePart});
  registry.Describe(
      {{"parse_date"},
       "`parse_date(s)` `parse_date(s, format)` `parse_date(s, format, 'ms')` "
       "`parse_date(s, format, 's', 'Europe/Berlin')`",
       "int64: [days, seconds and so on](#dates-and-times) since 1970-01-01 "
       "UTC; other text is a data error. The zone is of texts without one"});
  registry.Describe(
      {{"date_part"},
       "`date_part(t, 'hour')` `date_part(t, 'hour', 'ms')` `date_part(t, "
       "'hour', 's', 'Europe/Berlin')`",
       "int64: the year, month, day, hour, minute, second, weekday (Monday is "
       "0) or yearday (from 1) of a time, in UTC or the zone"});
}

}  // namespace feedmill
