#include "tests/reference/text_functions.h"

#include <locale.h>
#include <xxhash.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <cwchar>
#include <cwctype>
#include <limits>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <string>

#include "absl/time/civil_time.h"
#include "absl/time/time.h"
#include "tests/reference/expression.h"
#include "tests/reference/float_functions.h"
#include "tests/reference/records.h"
#include "tests/reference/sentence_piece_ids.h"
#include "tests/reference/tensor_functions.h"

namespace feedmill::reference {
namespace {

const char kSpace[] = " \t\n\v\f\r";

std::string TextOf(const Expr& expr) {
  if (auto* c = std::get_if<Expr::Component>(&expr.node())) return c->name;
  return std::get<std::string>(std::get<Expr::Literal>(expr.node()).value);
}
DType DTypeOfName(const Expr& expr) { return *DTypeFromName(TextOf(expr)); }

Tensor EachText(const Tensor& a,
                const std::function<std::string(const std::string&)>& f) {
  Tensor out{DType::kBytes, a.shape, {}, {}};
  for (const std::string& s : a.strings) out.strings.push_back(f(s));
  return out;
}
Tensor EachNumber(const Tensor& a, DType dtype,
                  const std::function<long double(const std::string&)>& f) {
  Tensor out{dtype, a.shape, {}, {}};
  for (const std::string& s : a.strings) out.numbers.push_back(f(s));
  return out;
}

std::string Stripped(std::string s, bool left, bool right) {
  if (left) s.erase(0, std::min(s.size(), s.find_first_not_of(kSpace)));
  if (right) s.erase(s.find_last_not_of(kSpace) + 1);
  return s;
}

std::vector<std::string> Words(const std::string& s) {
  std::vector<std::string> words(1);
  for (char c : s) {
    if (c != '\0' && std::strchr(kSpace, c) != nullptr)
      words.emplace_back();
    else
      words.back() += c;
  }
  std::erase(words, "");
  return words;
}

std::vector<std::string> Parts(std::string s, const std::string& separator) {
  std::vector<std::string> parts;
  for (size_t at; (at = s.find(separator)) != std::string::npos;) {
    parts.push_back(s.substr(0, at));
    s = s.substr(at + separator.size());
  }
  parts.push_back(s);
  return parts;
}

Tensor Split(const Expr::Call& call, const Tensor& a) {
  Tensor out{DType::kBytes, {}, {}, {}};
  out.strings = call.arguments.size() > 1
                    ? Parts(a.strings.at(0), TextOf(call.arguments[1]))
                    : Words(a.strings.at(0));
  out.shape = {static_cast<int64_t>(out.strings.size())};
  return out;
}

std::string Joined(const std::vector<std::string>& parts,
                   const std::string& between) {
  std::string out;
  for (size_t k = 0; k < parts.size(); ++k)
    out += (k > 0 ? between : "") + parts[k];
  return out;
}

std::string Substr(const std::string& s, int64_t start, int64_t length) {
  if (length < 0) throw DataError("substr");
  std::string out;
  for (size_t k = 0; k < s.size(); ++k) {
    const auto at = static_cast<int64_t>(k);
    const int64_t begin =
        start < 0 ? start + static_cast<int64_t>(s.size()) : start;
    if (at >= begin && at - begin < length) out += s[k];
  }
  return out;
}

Tensor JoinOf(const Tensor& a, const std::string& separator) {
  Tensor out{DType::kBytes, WithoutAxis(a.shape, -1), {}, {}};
  for (const Tensor& line : LinesAlong(a, -1))
    out.strings.push_back(Joined(line.strings, separator));
  return out;
}

long double CountOf(const std::string& s, const std::string& t) {
  if (t.empty()) return static_cast<long double>(s.size() + 1);
  return static_cast<long double>(Parts(s, t).size() - 1);
}

std::string ZFill(const std::string& s, int64_t width) {
  const size_t sign = !s.empty() && (s[0] == '-' || s[0] == '+') ? 1 : 0;
  std::string zeros;
  for (auto k = static_cast<int64_t>(s.size()); k < width; ++k) zeros += '0';
  return s.substr(0, sign) + zeros + s.substr(sign);
}

// The characters of UTF-8, by the C library.
std::vector<wchar_t> Characters(const std::string& s) {
  static locale_t utf8 = newlocale(LC_ALL_MASK, "C.UTF-8", nullptr);
  const locale_t before = uselocale(utf8);
  std::vector<wchar_t> out;
  std::mbstate_t state{};
  for (size_t at = 0; at < s.size();) {
    wchar_t character = 0;
    const size_t bytes =
        std::mbrtowc(&character, &s[at], s.size() - at, &state);
    if (bytes > 4) out.clear();
    if (bytes > 4) break;
    out.push_back(character);
    at += std::max<size_t>(bytes, 1);
  }
  uselocale(before);
  if (out.empty() && !s.empty()) throw DataError("no UTF-8");
  return out;
}

// Only cases of one character, and of the letter sharp s.
std::string OtherCase(const std::string& s, bool upper) {
  static locale_t utf8 = newlocale(LC_ALL_MASK, "C.UTF-8", nullptr);
  std::string out;
  const locale_t before = uselocale(utf8);
  for (const wchar_t c : Characters(s)) {
    char bytes[16];
    std::mbstate_t state{};
    const wint_t made = upper ? std::towupper(static_cast<wint_t>(c))
                              : std::towlower(static_cast<wint_t>(c));
    const size_t size = std::wcrtomb(bytes, static_cast<wchar_t>(made), &state);
    out += upper && c == 0xdf ? "SS"
                              : std::string(bytes, std::min<size_t>(size, 4));
  }
  uselocale(before);
  return out;
}

long double InUnits(absl::Time time, const std::string& unit) {
  const int64_t seconds = absl::ToUnixSeconds(time);
  if (unit == "d")
    return static_cast<long double>(
        std::floor(static_cast<double>(seconds) / 86400));
  if (unit == "s") return static_cast<long double>(seconds);
  if (unit == "ms") return static_cast<long double>(absl::ToUnixMillis(time));
  if (unit == "us") return static_cast<long double>(absl::ToUnixMicros(time));
  return static_cast<long double>(absl::ToUnixNanos(time));
}

absl::TimeZone ZoneOf(const std::string& name) {
  absl::TimeZone zone = absl::UTCTimeZone();
  if (!name.empty()) absl::LoadTimeZone(name, &zone);
  return zone;
}

// Reads dates by Abseil, which takes more than the product does.
long double ParseDate(const std::string& s, const std::string& format,
                      const std::string& unit, const std::string& zone) {
  std::vector<std::string> formats = {format};
  if (format == "iso") {
    formats = {"%Y-%m-%d"};
    for (const char* between : {"T", " "})
      for (const char* time : {"%H:%M", "%H:%M:%E*S"})
        for (const char* offset : {"", "%Ez"})
          formats.push_back(std::string("%Y-%m-%d") + between + time + offset);
  }
  for (std::string one : formats) {
    one = Joined(Parts(one, "%f"), "%E*f");
    absl::Time time;
    std::string error;
    if (absl::ParseTime(Joined(Parts(one, "%z"), "%Ez"), s, ZoneOf(zone), &time,
                        &error))
      return InUnits(time, unit);
  }
  throw DataError("parse_date");
}

long double DatePart(long double value, const std::string& part,
                     const std::string& unit, const std::string& zone) {
  const absl::Duration one = unit == "d"    ? absl::Hours(24)
                             : unit == "s"  ? absl::Seconds(1)
                             : unit == "ms" ? absl::Milliseconds(1)
                             : unit == "us" ? absl::Microseconds(1)
                                            : absl::Nanoseconds(1);
  const absl::Time time = absl::UnixEpoch() + one * static_cast<int64_t>(value);
  const absl::CivilSecond civil = absl::ToCivilSecond(time, ZoneOf(zone));
  const bool whole = part == "hour" || part == "minute" || part == "second";
  if (!(whole && unit == "d") &&
      (!whole && (civil.year() < 1 || civil.year() > 9999)))
    throw DataError("date_part");
  if (part == "year") return static_cast<long double>(civil.year());
  if (part == "month") return civil.month();
  if (part == "day") return civil.day();
  if (part == "hour") return civil.hour();
  if (part == "minute") return civil.minute();
  if (part == "second") return civil.second();
  if (part == "weekday")
    return static_cast<int>(absl::GetWeekday(absl::CivilDay(civil)));
  return absl::GetYearDay(absl::CivilDay(civil));
}

long double ToNumber(const std::string& s, DType dtype) {
  const size_t sign = !s.empty() && (s[0] == '-' || s[0] == '+') ? 1 : 0;
  const bool digits =
      s.size() > sign &&
      std::all_of(s.begin() + static_cast<int>(sign), s.end(),
                  [](unsigned char c) { return std::isdigit(c) != 0; });
  if (!IsFloat(dtype) && !digits) throw DataError("to_number");
  if (s.empty() || std::isspace(static_cast<unsigned char>(s[0])))
    throw DataError("to_number");
  char* end = nullptr;
  const char* begin = s.c_str();
  const long double value = dtype == DType::kFloat32 ? std::strtof(begin, &end)
                            : IsFloat(dtype)         ? std::strtod(begin, &end)
                                             : std::strtold(begin, &end);
  if (end != begin + s.size()) throw DataError("to_number");
  if (IsFloat(dtype)) return Rounded(dtype, value);
  const int bits = static_cast<int>(ItemSize(dtype)) * 8;
  const long double limit = std::ldexp(1.0L, IsSigned(dtype) ? bits - 1 : bits);
  if (value >= limit || value < (IsSigned(dtype) ? -limit : 0))
    throw DataError("to_number");
  return value;
}

template <class T>
void Decode(const std::string& bytes, Tensor& out) {
  if (bytes.size() % sizeof(T) != 0) throw DataError("decode_raw");
  for (size_t at = 0; at < bytes.size(); at += sizeof(T)) {
    T value{};
    std::memcpy(&value, &bytes[at], sizeof(T));
    out.numbers.push_back(static_cast<long double>(value));
  }
  out.shape = {static_cast<int64_t>(out.numbers.size())};
}

Tensor DecodeRaw(const std::string& bytes, DType dtype) {
  Tensor out{dtype, {}, {}, {}};
  if (dtype == DType::kBool) {
    Decode<uint8_t>(bytes, out);
    for (long double& v : out.numbers) v = v != 0;
    return out;
  }
  VisitNumeric(dtype, [&](auto zero) { Decode<decltype(zero)>(bytes, out); });
  return out;
}

nlohmann::json JsonField(const std::string& text, const std::string& path) {
  try {
    nlohmann::json value = nlohmann::json::parse(text);
    if (path.empty()) return value;
    for (const std::string& name : Parts(path, ".")) {
      nlohmann::json next =
          value.is_array() ? value.at(std::stoul(name)) : value.at(name);
      value = next;
    }
    return value;
  } catch (const std::exception&) {
    throw DataError("json_field");
  }
}

Tensor JsonField(const Tensor& a, const std::string& path, DType dtype) {
  if (dtype == DType::kBytes)
    return EachText(a, [&](const std::string& s) {
      const nlohmann::json value = JsonField(s, path);
      if (!value.is_string()) throw DataError("json_field");
      return value.get<std::string>();
    });
  return EachNumber(a, dtype, [&](const std::string& s) -> long double {
    const nlohmann::json value = JsonField(s, path);
    const bool fits = dtype == DType::kBool ? value.is_boolean()
                      : IsFloat(dtype)      ? value.is_number()
                                            : value.is_number_integer();
    if (!fits) throw DataError("json_field");
    if (dtype == DType::kBool) return value.get<bool>();
    if (IsFloat(dtype)) return Rounded(dtype, value.get<double>());
    return ToNumber(value.dump(), dtype);
  });
}

std::optional<Tensor> RegexFunction(const Expr::Call& call, const Tensor& a) {
  const std::string& f = call.function;
  const std::regex pattern(TextOf(call.arguments.at(1)));
  if (f == "re_match")
    return EachNumber(a, DType::kBool, [&](const std::string& s) {
      return std::regex_search(s, pattern);
    });
  if (f == "re_extract")
    return EachText(a, [&](const std::string& s) -> std::string {
      std::smatch match;
      if (!std::regex_search(s, match, pattern)) return "";
      return match[static_cast<size_t>(IntegersOf(call.arguments[2]).at(0))];
    });
  std::string rewrite = Joined(Parts(TextOf(call.arguments[2]), "$"), "$$");
  rewrite = Joined(Parts(rewrite, "\\0"), "$&");
  for (const char* group : {"1", "2", "3"})
    rewrite = Joined(Parts(rewrite, std::string("\\") + group),
                     std::string("$") + group);
  return EachText(a, [&](const std::string& s) {
    return std::regex_replace(s, pattern, rewrite);
  });
}

// The words of a vocabulary: lines without a byte order mark and "\r".
std::vector<std::string> WordsOf(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream in(text.starts_with("\xef\xbb\xbf") ? text.substr(3)
                                                         : text);
  for (std::string line; std::getline(in, line);) {
    if (line.ends_with('\r')) line.pop_back();
    words.push_back(line);
  }
  return words;
}

// Returns the bytes of a value that hash_uniform hashes.
std::string Hashed(const Tensor& value) {
  std::string out;
  const auto add = [&](auto number) {
    out.append(reinterpret_cast<const char*>(&number), sizeof number);
  };
  for (const std::string& s : value.strings) {
    add(uint64_t{s.size()});
    out += s;
  }
  for (const long double number : value.numbers) {
    if (IsFloat(value.dtype)) {
      if (std::isnan(number))
        add(std::numeric_limits<double>::quiet_NaN());
      else
        add(number == 0 ? 0.0 : static_cast<double>(number));
    } else if (number < 0) {
      add(static_cast<int64_t>(number));
    } else {
      add(static_cast<uint64_t>(number));
    }
  }
  return out;
}

}  // namespace

std::optional<Tensor> TextFunction(
    const Expr::Call& call, const std::function<Tensor(size_t)>& argument) {
  const std::string& f = call.function;
  const auto text = [&](size_t k) { return TextOf(call.arguments.at(k)); };
  const auto integer = [&](size_t k) {
    return IntegersOf(call.arguments.at(k)).at(0);
  };
  if (f == "strip" || f == "lstrip" || f == "rstrip")
    return EachText(argument(0), [&](const std::string& s) {
      return Stripped(s, f != "rstrip", f != "lstrip");
    });
  if (f == "startswith" || f == "endswith" || f == "find")
    return EachNumber(
        argument(0), f == "find" ? DType::kInt64 : DType::kBool,
        [&](const std::string& s) -> long double {
          const std::string t = text(1);
          if (f == "startswith") return s.compare(0, t.size(), t) == 0;
          if (f == "endswith")
            return s.size() >= t.size() && s.substr(s.size() - t.size()) == t;
          const size_t at = s.find(t);
          return at == std::string::npos ? -1 : static_cast<long double>(at);
        });
  if (f == "contains" || f == "count")
    return EachNumber(argument(0), f == "count" ? DType::kInt64 : DType::kBool,
                      [&](const std::string& s) {
                        const long double found = CountOf(s, text(1));
                        return f == "count" ? found : found > 0;
                      });
  if (f == "join") return JoinOf(argument(0), argument(1).strings.at(0));
  if (f == "zfill")
    return EachText(argument(0),
                    [&](const std::string& s) { return ZFill(s, integer(1)); });
  if (f == "parse_date")
    return EachNumber(argument(0), DType::kInt64, [&](const std::string& s) {
      return ParseDate(s, call.arguments.size() > 1 ? text(1) : "iso",
                       call.arguments.size() > 2 ? text(2) : "s",
                       call.arguments.size() > 3 ? text(3) : "");
    });
  if (f == "date_part") {
    const Tensor a = argument(0);
    Tensor out{DType::kInt64, a.shape, {}, {}};
    for (const long double v : a.numbers)
      out.numbers.push_back(DatePart(v, text(1),
                                     call.arguments.size() > 2 ? text(2) : "s",
                                     call.arguments.size() > 3 ? text(3) : ""));
    return out;
  }
  if (f == "utf8_length")
    return EachNumber(argument(0), DType::kInt64, [](const std::string& s) {
      return static_cast<long double>(Characters(s).size());
    });
  if (f == "utf8_lower" || f == "utf8_upper")
    return EachText(argument(0), [&](const std::string& s) {
      return OtherCase(s, f == "utf8_upper");
    });
  if (f == "split") return Split(call, argument(0));
  if (f == "replace")
    return EachText(argument(0), [&](const std::string& s) {
      return Joined(Parts(s, text(1)), text(2));
    });
  if (f == "substr")
    return EachText(argument(0), [&](const std::string& s) {
      return Substr(s, integer(1), integer(2));
    });
  if (f == "to_string") {
    const Tensor a = argument(0);
    Tensor out{DType::kBytes, a.shape, {}, {}};
    for (long double v : a.numbers)
      out.strings.push_back(v < 0 ? std::to_string(static_cast<int64_t>(v))
                                  : std::to_string(static_cast<uint64_t>(v)));
    return out;
  }
  if (f == "to_number") {
    const DType dtype = DTypeOfName(call.arguments.at(1));
    return EachNumber(argument(0), dtype,
                      [&](const std::string& s) { return ToNumber(s, dtype); });
  }
  if (f == "hash_bucket")
    return EachNumber(argument(0), DType::kInt64,
                      [&](const std::string& s) -> long double {
                        return static_cast<long double>(
                            XXH3_64bits_withSeed(s.data(), s.size(), 0) %
                            static_cast<uint64_t>(integer(1)));
                      });
  if (f == "hash_uniform") {
    uint64_t hash = 0;
    for (size_t k = 0; k < call.arguments.size(); ++k) {
      const std::string bytes = Hashed(argument(k));
      hash = XXH3_64bits_withSeed(bytes.data(), bytes.size(), hash);
    }
    const long double uniform = static_cast<long double>(hash >> 11) * 0x1p-53L;
    return Tensor{DType::kFloat64, {}, {uniform}, {}};
  }
  if (f.starts_with("vocabulary"))
    return EachNumber(
        argument(0), DType::kInt64,
        [&, lines = WordsOf(ReadFile(text(1)))](
            const std::string& s) -> long double {
          const auto at = std::find(lines.begin(), lines.end(), s);
          if (at != lines.end()) return at - lines.begin();
          if (call.arguments.size() < 3) throw DataError("no such word");
          if (f == "vocabulary") return static_cast<long double>(integer(2));
          return static_cast<long double>(
              lines.size() + XXH3_64bits_withSeed(s.data(), s.size(), 0) %
                                 static_cast<uint64_t>(integer(2)));
        });
  if (f == "sentencepiece") {
    const auto ids =
        SentencePieceIds(ReadFile(text(1)), argument(0).strings.at(0));
    return Tensor{DType::kInt32,
                  {static_cast<int64_t>(ids.size())},
                  {ids.begin(), ids.end()},
                  {}};
  }
  if (f == "decode_raw")
    return DecodeRaw(argument(0).strings.at(0),
                     DTypeOfName(call.arguments.at(1)));
  if (f == "json_field")
    return JsonField(argument(0), text(1), DTypeOfName(call.arguments.at(2)));
  if (f.starts_with("re_")) return RegexFunction(call, argument(0));
  return std::nullopt;
}

}  // namespace feedmill::reference
