#include "core/definition/value_reader.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <unordered_set>

#include "core/base/status.h"
#include "core/dataset/foreign_names.h"
#include "core/dataset/string_escapes.h"
#include "core/definition/source_by_name.h"
#include "core/io/file_systems.h"

namespace feedmill {
namespace {

// Most values and bytes of scalars of a definition.
constexpr size_t kValuesMax = 100'000;
constexpr size_t kScalarBytesMax = size_t{4} << 20;

// Returns the end of a message about an invalid number: advice for "AUTOTUNE"
// and "tf.data.AUTOTUNE", defaults of other libraries.
std::string NumberHint(const Value& value) {
  if (!value.is_scalar()) return "";
  const std::string_view text = value.text();
  const std::string_view answer =
      AnswerToForeignName(text.substr(text.rfind('.') + 1));
  return answer.empty() ? "" : fmt::format("; {}", answer);
}

// Returns the bytes of {"hex": …}, in which the canonical text has names that
// are not UTF-8. Nullopt if the value is none.
std::optional<std::string> BytesOfHex(const Value& value) {
  const Value* const hex =
      value.is_map() && value.map().size() == 1 ? value.Find("hex") : nullptr;
  if (hex == nullptr || !hex->quoted()) return std::nullopt;
  const std::string& digits = hex->text();
  if (digits.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  for (size_t k = 0; k < digits.size(); k += 2) {
    const int high = HexDigit(digits[k]);
    const int low = HexDigit(digits[k + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes += static_cast<char>(high * 16 + low);
  }
  return bytes;
}

}  // namespace

const Value* Value::Find(std::string_view key) const {
  for (const Entry& entry : map()) {
    if (entry.key.is_scalar() && entry.key.text() == key) return &entry.value;
  }
  return nullptr;
}

std::string ValueReader::KindOf(const Value& value) {
  if (value.is_scalar()) return Quoted(value.text());
  if (value.is_list()) return "a list";
  if (value.is_map()) return "a map";
  return value.pipeline() != nullptr ? "a dataset" : "nothing";
}

std::string ValueReader::Quoted(const std::string& text) {
  constexpr size_t kShown = 60;
  if (text.size() <= kShown) return "\"" + text + "\"";
  return "\"" + text.substr(0, kShown) + "…\"";
}

std::string ValueReader::Joined(const Names& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string ValueReader::HintFor(const std::string& name,
                                 const std::string& where,
                                 const Names& known) const {
  if (canonical()) return "";
  const std::string hint = NameHint(name, where, known);
  return hint.empty() ? "; known: " + Joined(known) : hint;
}

absl::Status ValueReader::Error(const Value& value, const std::string& where,
                                const std::string& what) {
  const auto [line, column] = value.place();
  std::string place;
  if (line > 0) place = fmt::format("line {}, column {}: ", line, column);
  return InvalidArgument("{}{}{}{}", place, where, where.empty() ? "" : ": ",
                         what);
}

absl::Status ValueReader::Unexpected(const Value& value,
                                     const std::string& where,
                                     std::string_view expected) {
  return Error(value, where,
               fmt::format("expected {}, found {}", expected, KindOf(value)));
}

bool ValueReader::IsFile(const Value& value) const {
  return !canonical() && value.is_scalar() &&
         KindByName(value.text()) != nullptr;
}

std::string ValueReader::PathOf(const std::string& name) const {
  const bool whole = folder_.empty() || name.empty() || name.front() == '/' ||
                     !SchemeOf(name).empty();
  return whole ? name : fmt::format("{}/{}", folder_, name);
}

absl::Status ValueReader::Count(const Value& value) {
  if (canonical()) return absl::OkStatus();  // ValueOfJson has bounds
  ++size_.values;
  if (value.is_scalar()) size_.scalar_bytes += value.text().size();
  if (size_.values <= kValuesMax && size_.scalar_bytes <= kScalarBytesMax) {
    return absl::OkStatus();
  }
  return Error(value, "",
               "the pipeline is too large (an alias counts at each use)");
}

absl::Status ValueReader::ReadKey(const Value& key, const std::string& where,
                                  std::string& out) {
  FM_RETURN_IF_ERROR(Count(key));
  if (!key.is_scalar()) {
    return Error(key, where,
                 "a key must be a name, and this key is " + KindOf(key));
  }
  out = key.text();
  return absl::OkStatus();
}

absl::Status ValueReader::ForEachEntry(const Value& map,
                                       const std::string& where,
                                       std::string_view expected,
                                       const OnEntry& on_entry) {
  std::unordered_set<std::string> seen;
  const auto entry = [&](const Value& at, const std::string& name,
                         const Value& value) {
    if (seen.insert(name).second) return on_entry(at, name, value);
    return Error(at, where, Quoted(name) + " is there twice");
  };
  FM_RETURN_IF_ERROR(Count(map));
  std::string name;
  if (map.is_map()) {
    for (const auto& [key, value] : map.map()) {
      FM_RETURN_IF_ERROR(ReadKey(key, where, name));
      FM_RETURN_IF_ERROR(entry(key, name, value));
    }
    return absl::OkStatus();
  }
  if (!canonical() || !map.is_list()) return Unexpected(map, where, expected);
  for (const Value& item : map.list()) {
    if (!item.is_list() || item.list().size() < 2) {
      return Unexpected(item, where, "a list that begins with a name");
    }
    FM_RETURN_IF_ERROR(ReadString(item.list()[0], where, "a name", name));
    FM_RETURN_IF_ERROR(entry(item, name, item));
  }
  return absl::OkStatus();
}

absl::Status ValueReader::ForEachKey(const Value& map, const std::string& where,
                                     const Names& known, const OnKey& on_key) {
  const std::string expected = "a map with " + Joined(known);
  if (!map.is_map()) return Unexpected(map, where, expected);
  return ForEachEntry(
      map, where, expected,
      [&](const Value& at, const std::string& key, const Value& value) {
        if (std::find(known.begin(), known.end(), key) != known.end()) {
          return on_key(key, value);
        }
        return Error(at, where,
                     "there is no " + Quoted(key) + HintFor(key, where, known));
      });
}

template <class T>
absl::Status ValueReader::ReadAnyInteger(const Value& value,
                                         const std::string& where, T& out) {
  FM_RETURN_IF_ERROR(Count(value));
  std::string_view text;
  if (value.is_scalar() && !value.quoted()) text = value.text();
  bool negative = false;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  int base = 10;
  if (text.substr(0, 2) == "0x") {
    base = 16;
    text.remove_prefix(2);
  }
  uint64_t magnitude = 0;
  const auto [stop, error] =
      std::from_chars(text.data(), text.data() + text.size(), magnitude, base);
  if (text.empty() || stop != text.data() + text.size()) {
    absl::Status wrong = Unexpected(value, where, "an integer");
    return InvalidArgument("{}{}", ErrorText(wrong), NumberHint(value));
  }
  constexpr auto kMax = static_cast<uint64_t>(std::numeric_limits<T>::max());
  const uint64_t limit = !negative                            ? kMax
                         : std::numeric_limits<T>::min() == 0 ? 0
                                                              : kMax + 1;
  if (error != std::errc() || magnitude > limit) {
    return Error(value, where,
                 fmt::format("{} is out of range, {} to {}", value.text(),
                             std::numeric_limits<T>::min(),
                             std::numeric_limits<T>::max()));
  }
  out = static_cast<T>(negative ? uint64_t{0} - magnitude : magnitude);
  return absl::OkStatus();
}

absl::Status ValueReader::ReadInteger(const Value& value,
                                      const std::string& where, int64_t& out) {
  return ReadAnyInteger(value, where, out);
}

absl::Status ValueReader::ReadSeed(const Value& value, const std::string& where,
                                   std::optional<uint64_t>& out) {
  if (value.is_nothing()) return absl::OkStatus();
  return ReadAnyInteger(value, where, out.emplace());
}

absl::Status ValueReader::ReadReal(const Value& value, const std::string& where,
                                   double& out) {
  FM_RETURN_IF_ERROR(Count(value));
  std::string_view text;
  if (value.is_scalar() && !value.quoted()) text = value.text();
  double real = 0;
  const auto [stop, error] =
      std::from_chars(text.data(), text.data() + text.size(), real);
  if (text.empty() || error != std::errc() ||
      stop != text.data() + text.size()) {
    return Unexpected(value, where, "a number");
  }
  out = real;
  return absl::OkStatus();
}

absl::Status ValueReader::ReadBool(const Value& value, const std::string& where,
                                   bool& out) {
  FM_RETURN_IF_ERROR(Count(value));
  std::string_view text;
  if (value.is_scalar() && !value.quoted()) text = value.text();
  out = text == "true" || text == "True" || text == "TRUE";
  if (out || text == "false" || text == "False" || text == "FALSE") {
    return absl::OkStatus();
  }
  return Unexpected(value, where, "true or false");
}

absl::Status ValueReader::ReadString(const Value& value,
                                     const std::string& where,
                                     std::string_view what, std::string& out) {
  FM_RETURN_IF_ERROR(Count(value));
  if (canonical()) {
    if (std::optional<std::string> bytes = BytesOfHex(value)) {
      out = *std::move(bytes);
      return absl::OkStatus();
    }
  }
  if (!value.is_scalar() || (canonical() && !value.quoted())) {
    return Unexpected(value, where, what);
  }
  out = value.text();
  return absl::OkStatus();
}

absl::Status ValueReader::ReadWord(const Value& value, const std::string& where,
                                   const Names& words, size_t& out) {
  std::string text;
  FM_RETURN_IF_ERROR(ReadString(value, where, "a word", text));
  const auto found = std::find(words.begin(), words.end(), text);
  if (found == words.end()) {
    return Unexpected(value, where, "one of " + Joined(words));
  }
  out = static_cast<size_t>(found - words.begin());
  return absl::OkStatus();
}

}  // namespace feedmill
