#include "core/definition/yaml_values.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "core/base/status.h"
#include "core/dataset/nearest_name.h"
#include "core/definition/foreign_names.h"

namespace feedmill {
namespace {

// Most nodes and bytes of scalars to read; an alias counts at each use.
constexpr size_t kNodesMax = 100'000;
constexpr size_t kScalarBytesMax = size_t{4} << 20;

}  // namespace

std::string YamlValues::Quoted(const std::string& text) {
  constexpr size_t kShown = 60;
  if (text.size() <= kShown) return "\"" + text + "\"";
  return "\"" + text.substr(0, kShown) + "…\"";
}

std::string YamlValues::Joined(const Names& names) {
  std::string out;
  for (std::string_view name : names) {
    if (!out.empty()) out += ", ";
    out += name;
  }
  return out;
}

std::string YamlValues::HintFor(const std::string& name,
                                const std::string& where, const Names& known) {
  const std::string_view answer = AnswerToForeignName(name, where);
  if (!answer.empty()) return fmt::format("; {}", answer);
  const std::string hint = DidYouMean(name, known);
  return hint.empty() ? "; known: " + Joined(known) : hint;
}

std::string YamlValues::Kind(const YAML::Node& node) {
  switch (node.Type()) {
    case YAML::NodeType::Undefined:
      return "nothing";
    case YAML::NodeType::Null:
      return "nothing";
    case YAML::NodeType::Scalar:
      return Quoted(node.Scalar());
    case YAML::NodeType::Sequence:
      return "a list";
    case YAML::NodeType::Map:
      return "a map";
  }
  return "nothing";
}

absl::Status YamlValues::Error(const YAML::Node& node, const std::string& where,
                               const std::string& what) {
  const YAML::Mark mark = node.Mark();
  std::string place;
  if (!mark.is_null()) {
    place = fmt::format("line {}, column {}: ", mark.line + 1, mark.column + 1);
  }
  return InvalidArgument("{}{}{}{}", place, where, where.empty() ? "" : ": ",
                         what);
}

// Counts a node at each use, because aliases make small texts large.
absl::Status YamlValues::Count(const YAML::Node& node) {
  ++nodes_;
  if (node.IsScalar()) scalar_bytes_ += node.Scalar().size();
  if (nodes_ <= kNodesMax && scalar_bytes_ <= kScalarBytesMax) {
    return absl::OkStatus();
  }
  return Error(node, "",
               "the pipeline is too large (an alias counts at each use)");
}

absl::Status YamlValues::ReadKey(const YAML::Node& key,
                                 const std::string& where, std::string& out) {
  FM_RETURN_IF_ERROR(Count(key));
  if (!key.IsScalar()) {
    return Error(key, where,
                 "a key must be a name, and this key is " + Kind(key));
  }
  out = key.Scalar();
  return absl::OkStatus();
}

// Calls on_key for the keys of a map, which must be known and unique.
absl::Status YamlValues::ForEachKey(const YAML::Node& map,
                                    const std::string& where,
                                    const Names& known, const OnKey& on_key) {
  FM_RETURN_IF_ERROR(Count(map));
  if (!map.IsMap()) {
    return Error(
        map, where,
        "expected a map with " + Joined(known) + ", found " + Kind(map));
  }
  std::vector<std::string> seen;
  for (const auto& entry : map) {
    std::string key;
    FM_RETURN_IF_ERROR(ReadKey(entry.first, where, key));
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      return Error(entry.first, where,
                   "there is no " + Quoted(key) + HintFor(key, where, known));
    }
    if (std::find(seen.begin(), seen.end(), key) != seen.end()) {
      return Error(entry.first, where, "\"" + key + "\" is there twice");
    }
    seen.push_back(key);
    FM_RETURN_IF_ERROR(on_key(key, entry.second));
  }
  return absl::OkStatus();
}

namespace {

// Returns the end of a message about an invalid number: advice for "AUTOTUNE"
// and "tf.data.AUTOTUNE", defaults of other libraries.
std::string NumberHint(const YAML::Node& node) {
  if (!node.IsScalar()) return "";
  const std::string& text = node.Scalar();
  const std::string_view answer =
      AnswerToForeignName(std::string_view(text).substr(text.rfind('.') + 1));
  return answer.empty() ? "" : fmt::format("; {}", answer);
}

}  // namespace

// Same, but accepts an absent value, which means all defaults.
absl::Status YamlValues::ForEachOptionalKey(const YAML::Node& map,
                                            const std::string& where,
                                            const Names& known,
                                            const OnKey& on_key) {
  if (!map.IsDefined() || map.IsNull()) return absl::OkStatus();
  return ForEachKey(map, where, known, on_key);
}

template <class T>
absl::Status YamlValues::ReadAnyInteger(const YAML::Node& node,
                                        const std::string& where, T& out) {
  FM_RETURN_IF_ERROR(Count(node));
  const auto no_integer = [&] {
    return Error(node, where,
                 "expected an integer, found " + Kind(node) + NumberHint(node));
  };
  if (!node.IsScalar() || node.Tag() == "!") return no_integer();
  std::string_view text = node.Scalar();
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
  if (text.empty() || stop != text.data() + text.size()) return no_integer();
  constexpr auto kMax = static_cast<uint64_t>(std::numeric_limits<T>::max());
  const uint64_t limit = !negative                            ? kMax
                         : std::numeric_limits<T>::min() == 0 ? 0
                                                              : kMax + 1;
  if (error != std::errc() || magnitude > limit) {
    return Error(node, where,
                 fmt::format("{} is out of range, {} to {}", node.Scalar(),
                             std::numeric_limits<T>::min(),
                             std::numeric_limits<T>::max()));
  }
  out = static_cast<T>(negative ? uint64_t{0} - magnitude : magnitude);
  return absl::OkStatus();
}

absl::Status YamlValues::ReadInteger(const YAML::Node& node,
                                     const std::string& where, int64_t& out) {
  return ReadAnyInteger(node, where, out);
}

absl::Status YamlValues::ReadInteger(const YAML::Node& node,
                                     const std::string& where, uint64_t& out) {
  return ReadAnyInteger(node, where, out);
}

absl::Status YamlValues::ReadReal(const YAML::Node& node,
                                  const std::string& where, double& out) {
  FM_RETURN_IF_ERROR(Count(node));
  const std::string text = node.IsScalar() ? node.Scalar() : "";
  double value = 0;
  const auto [stop, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || node.Tag() == "!" || error != std::errc() ||
      stop != text.data() + text.size()) {
    return Error(node, where, "expected a number, found " + Kind(node));
  }
  out = value;
  return absl::OkStatus();
}

absl::Status YamlValues::ReadBool(const YAML::Node& node,
                                  const std::string& where, bool& out) {
  FM_RETURN_IF_ERROR(Count(node));
  const std::string text =
      node.IsScalar() && node.Tag() != "!" ? node.Scalar() : "";
  if (text == "true" || text == "True" || text == "TRUE") {
    out = true;
  } else if (text == "false" || text == "False" || text == "FALSE") {
    out = false;
  } else {
    return Error(node, where, "expected true or false, found " + Kind(node));
  }
  return absl::OkStatus();
}

absl::Status YamlValues::ReadString(const YAML::Node& node,
                                    const std::string& where, const char* what,
                                    std::string& out) {
  FM_RETURN_IF_ERROR(Count(node));
  if (!node.IsScalar()) {
    return Error(node, where,
                 fmt::format("expected {}, found {}", what, Kind(node)));
  }
  out = node.Scalar();
  return absl::OkStatus();
}

// Reads one of a few words; `out` is its index.
absl::Status YamlValues::ReadWord(const YAML::Node& node,
                                  const std::string& where, const Names& words,
                                  size_t& out) {
  std::string text;
  FM_RETURN_IF_ERROR(ReadString(node, where, "a word", text));
  const auto found = std::find(words.begin(), words.end(), text);
  if (found == words.end()) {
    return Error(node, where,
                 fmt::format("expected one of {}, found {}", Joined(words),
                             Quoted(text)));
  }
  out = static_cast<size_t>(found - words.begin());
  return absl::OkStatus();
}

}  // namespace feedmill
