#include "core/sources/value_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/strings/numbers.h"
#include "core/base/date_text.h"
#include "core/base/status.h"
#include "core/sources/record_decoder.h"

namespace feedmill {
namespace {

bool AppendBool(std::string_view text, BufferBuilder& values) {
  for (const std::string_view word : {"1", "true", "True", "TRUE"}) {
    if (text != word) continue;
    values.Push(uint8_t{1});
    return true;
  }
  for (const std::string_view word : {"0", "false", "False", "FALSE"}) {
    if (text != word) continue;
    values.Push(uint8_t{0});
    return true;
  }
  return false;
}

// The infinity or zero for a number that is out of range.
template <class T>
T Rounded(std::string_view text) {
  const absl::string_view number(text.data(), text.size());
  T value{};
  if constexpr (std::is_same_v<T, float>) {
    static_cast<void>(absl::SimpleAtof(number, &value));
  } else {
    static_cast<void>(absl::SimpleAtod(number, &value));
  }
  return value;
}

template <class T>
bool AppendParsed(std::string_view text, BufferBuilder& values) {
  using Parsed = std::conditional_t<kIsFloat16<T>, double, T>;
  Parsed value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (stop != end) return false;
  if constexpr (kIsFloat<T>) {
    if (error == std::errc::result_out_of_range) {
      values.Push(static_cast<T>(Rounded<Parsed>(text)));
      return true;
    }
  }
  if (error != std::errc()) return false;
  values.Push(static_cast<T>(value));
  return true;
}

// FloatKeepsInteger of a text of decimal digits that does not begin with 0.
template <class T>
bool KeepsDigits(std::string_view digits) {
  if (digits.size() <= std::numeric_limits<T>::digits10) return true;
  T value{};
  const char* const end = digits.data() + digits.size();
  if (std::from_chars(digits.data(), end, value).ec != std::errc()) {
    return false;  // out of range
  }
  // Large enough for the largest float64, 309 digits.
  std::array<char, 320> text{};
  char* const room = text.data() + text.size();
  const auto whole =
      std::to_chars(text.data(), room, value, std::chars_format::fixed, 0);
  if (std::string_view(text.data(), whole.ptr) == digits) return true;
  // The shortest digits that mean this float, "1.5e+18", with zeros for the
  // rest.
  const auto shortest =
      std::to_chars(text.data(), room, value, std::chars_format::scientific);
  std::string written(1, text[0]);
  for (const char* at = text.data() + 1; at < shortest.ptr && *at != 'e';
       ++at) {
    if (*at != '.') written += *at;
  }
  if (written.size() > digits.size()) return false;
  written.append(digits.size() - written.size(), '0');
  return written == digits;
}

// A number that is written as digits, with a point between them or without.
struct PlainNumber {
  uint64_t digits = 0;  // the number without sign and point
  size_t places = 0;    // digits behind the point
  bool negative = false;
};

// Reads digits into `number.digits`; returns their end.
const char* ReadDigits(const char* at, const char* end, PlainNumber& number) {
  for (; at < end; ++at) {
    const auto digit = static_cast<unsigned>(*at - '0');
    if (digit > 9) break;
    number.digits = number.digits * 10 + digit;
  }
  return at;
}

// Returns false if the text has another form or more digits.
bool ReadPlain(std::string_view text, PlainNumber& number) {
  constexpr ptrdiff_t kBytesMax = 18;  // each number of 18 digits fits uint64
  const char* at = text.data();
  const char* const end = at + text.size();
  if (at < end && *at == '-') {
    number.negative = true;
    ++at;
  }
  if (end - at > kBytesMax) return false;
  const char* const begin = at;
  at = ReadDigits(at, end, number);
  if (at == begin) return false;
  if (at == end) return true;
  if (*at != '.') return false;
  const char* const point = at;
  at = ReadDigits(at + 1, end, number);
  number.places = static_cast<size_t>(at - point - 1);
  return at == end && number.places > 0;
}

// Appends a plain number as a float if its digits and its power of ten are
// exact floats: their quotient is then rounded once, as it must be. Source:
// Clinger, "How to read floating point numbers accurately", 1990.
template <class T>
bool AppendQuotient(const PlainNumber& number, BufferBuilder& values) {
  constexpr uint64_t kExactMax = uint64_t{1} << std::numeric_limits<T>::digits;
  constexpr auto kPowers = [] {
    // The largest powers that a float64 and a float32 hold are 10^22 and 10^10.
    std::array<T, std::is_same_v<T, float> ? 11 : 19> powers{1};
    for (size_t k = 1; k < powers.size(); ++k) powers[k] = powers[k - 1] * 10;
    return powers;
  }();
  if (number.digits > kExactMax || number.places >= kPowers.size()) {
    return false;
  }
  const T value = static_cast<T>(number.digits) / kPowers[number.places];
  values.Push(number.negative ? -value : value);
  return true;
}

template <class T>
bool AppendInteger(const PlainNumber& number, BufferBuilder& values) {
  if (number.places > 0) return false;
  const auto magnitude = static_cast<int64_t>(number.digits);  // 18 digits
  const int64_t value = number.negative ? -magnitude : magnitude;
  // from_chars refuses "-0" of unsigned integers, as any other sign.
  if (!std::in_range<T>(value) || (std::is_unsigned_v<T> && number.negative)) {
    return false;
  }
  values.Push(static_cast<T>(value));
  return true;
}

}  // namespace

bool AppendPlainNumber(std::string_view text, DType dtype,
                       BufferBuilder& values) {
  PlainNumber number;
  if (dtype == DType::kBool || !ReadPlain(text, number)) return false;
  return VisitNumeric(dtype, [&]<class T>(T) {
    if constexpr (kIsFloat16<T>) {
      return false;
    } else if constexpr (std::is_floating_point_v<T>) {
      return AppendQuotient<T>(number, values);
    } else {
      return AppendInteger<T>(number, values);
    }
  });
}

bool FloatKeepsInteger(std::string_view text, DType dtype) {
  if (text.size() <= std::numeric_limits<float>::digits10 &&
      !IsFloat16(dtype)) {
    return true;
  }
  if (!IsFloat(dtype)) return true;
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  text.remove_prefix(std::min(text.find_first_not_of('0'), text.size()));
  // Most numbers here have a '.' near their beginning.
  const bool integer =
      std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  if (!integer) return true;
  if (dtype == DType::kFloat32) return KeepsDigits<float>(text);
  if (!KeepsDigits<double>(text)) return false;
  if (!IsFloat16(dtype)) return true;
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  const float kept =
      dtype == DType::kFloat16 ? float{Float16(value)} : float{BFloat16(value)};
  return kept == value;
}

absl::Status IntegerNotKept(std::string_view what, std::string_view text,
                            DType dtype) {
  return DataLoss(
      "{} is {}, which {} does not hold exactly; declare its type with "
      "`fields`: bytes keeps the digits, {} rounds",
      what, Shown(text), DTypeName(dtype), DTypeName(dtype));
}

bool AppendTime(std::string_view text, LogicalType time,
                BufferBuilder& values) {
  constexpr int64_t kASecond[] = {1, 1'000, 1'000'000, kNanosASecond};
  const bool date = time == LogicalType::kDate;
  const TimeUnit unit{
      "", date ? 0
               : kASecond[static_cast<size_t>(time) -
                          static_cast<size_t>(LogicalType::kTimestampS)]};
  DateText fields{text};
  if (!ReadIso(fields)) return false;
  const bool whole = date ? fields.hour == 0 && fields.minute == 0 &&
                                fields.second == 0 && fields.nanos == 0 &&
                                fields.offset == 0
                          : fields.nanos % (kNanosASecond / unit.a_second) == 0;
  const auto units = TimeOf(fields, unit, std::nullopt);
  if (!whole || !units) return false;
  values.Push(*units);
  return true;
}

bool AppendNumber(std::string_view text, DType dtype, BufferBuilder& values) {
  if (AppendPlainNumber(text, dtype, values)) return true;
  if (dtype == DType::kBool) return AppendBool(text, values);
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') {
    text.remove_prefix(1);
  }
  if (text.empty()) return false;
  return VisitNumeric(dtype, [&](auto zero) {
    return AppendParsed<decltype(zero)>(text, values);
  });
}

bool AppendMissing(DType dtype, BufferBuilder& values) {
  switch (dtype) {
    case DType::kFloat32:
      values.Push(std::numeric_limits<float>::quiet_NaN());
      return true;
    case DType::kFloat64:
      values.Push(std::numeric_limits<double>::quiet_NaN());
      return true;
    case DType::kFloat16:
      values.Push(Float16(std::numeric_limits<float>::quiet_NaN()));
      return true;
    case DType::kBFloat16:
      values.Push(BFloat16(std::numeric_limits<float>::quiet_NaN()));
      return true;
    default:
      return dtype == DType::kBytes;
  }
}

bool NumberGuess::Add(std::string_view text) {
  constexpr uint64_t kExactMax = uint64_t{1} << 53;
  BufferBuilder parsed;
  if (!AppendNumber(text, DType::kFloat64, parsed)) {
    other_ = true;
    return false;
  }
  any_ = true;
  const bool sign = text.starts_with('+') || text.starts_with('-');
  const std::string_view digits = text.substr(sign ? 1 : 0);
  if (digits.find_first_not_of("0123456789") != digits.npos) {
    real_ = true;
    return true;
  }
  uint64_t magnitude = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), magnitude);
  const bool fits = error == std::errc();
  in_float64_ = in_float64_ && fits && magnitude <= kExactMax;
  kept_ = kept_ && FloatKeepsInteger(text, DType::kFloat64);
  int64_ = int64_ && AppendNumber(text, DType::kInt64, parsed);
  uint64_ = uint64_ && AppendNumber(text, DType::kUInt64, parsed);
  return true;
}

DType NumberGuess::Result(bool missing) const {
  if (real_) return kept_ ? DType::kFloat64 : DType::kBytes;
  if (missing) return in_float64_ ? DType::kFloat64 : DType::kBytes;
  if (int64_) return DType::kInt64;
  return uint64_ ? DType::kUInt64 : DType::kBytes;
}

}  // namespace feedmill
