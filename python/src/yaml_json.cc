// Converts YAML nodes to JSON. In its own file, because yaml-cpp is heavy.

#include <yaml-cpp/yaml.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "python/src/definition.h"

namespace feedmill::python {
namespace {

using Json = nlohmann::ordered_json;

// Key of a scalar with a non-canonical spelling: 007, 0x10, 1.50, True. Python
// keeps its text, because the reader may take it as a number or a text.
constexpr char kPlain[] = "$plain";

template <class T>
std::optional<T> Parsed(std::string_view text) {
  T value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc() || stop != end) return std::nullopt;
  return value;
}

// Converts an unquoted scalar: a bool or a number if it is spelt as in JSON.
Json PlainScalar(const std::string& text) {
  Json value = text;
  if (text == "true" || text == "false") {
    value = text == "true";
  } else if (const auto whole = Parsed<int64_t>(text)) {
    value = *whole;
  } else if (const auto large = Parsed<uint64_t>(text)) {
    value = *large;
  } else if (const auto real = Parsed<double>(text)) {
    value = *real;
  }
  if (value.is_string()) {
    const bool number =
        text[0] == '+' || text.starts_with("0x") || text.starts_with("-0x");
    const bool truth =
        text == "True" || text == "TRUE" || text == "False" || text == "FALSE";
    if (!number && !truth) return value;
  } else if (value.dump() == text) {
    return value;
  }
  return {{kPlain, text}};
}

Json NodeToJson(const YAML::Node& node) {
  if (node.IsSequence()) {
    Json list = Json::array();
    for (const YAML::Node& item : node) list.push_back(NodeToJson(item));
    return list;
  }
  if (node.IsMap()) {
    Json map = Json::object();
    for (const auto& entry : node) {
      map[entry.first.Scalar()] = NodeToJson(entry.second);
    }
    return map;
  }
  if (!node.IsScalar()) return nullptr;
  if (node.Tag() == "!") return node.Scalar();  // quoted
  return PlainScalar(node.Scalar());
}

}  // namespace

std::string YamlToJson(const std::string& yaml) {
  return NodeToJson(YAML::Load(yaml))
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace feedmill::python
