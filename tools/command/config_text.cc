#include "tools/command/config_text.h"

#include <nlohmann/json.hpp>
#include <set>

#include "core/base/status.h"
#include "core/cluster/cluster_node.h"

namespace feedmill {
namespace {

constexpr size_t kEntriesMax = 1'000;

absl::Status ReadEntries(const YAML::Node& root,
                         std::vector<ConfigEntry>* entries) {
  if (root.IsNull()) return absl::OkStatus();
  if (!root.IsMap()) {
    return InvalidArgument(
        "{}this is no map of options; write one a line, such as 'port: 5050'",
        NodePlace(root));
  }
  std::set<std::string> seen;
  for (const auto& item : root) {
    const std::string place = NodePlace(item.first);
    if (!item.first.IsScalar() || item.first.Scalar().empty()) {
      return InvalidArgument("{}an option's name is a word", place);
    }
    const std::string& key = item.first.Scalar();
    if (!seen.insert(key).second) {
      return InvalidArgument("{}{} is written twice", place, key);
    }
    if (item.second.IsNull()) {
      return InvalidArgument("{}{} has no value; leave it out for the default",
                             place, key);
    }
    if (!item.second.IsScalar()) {
      return InvalidArgument("{}{} is one value, not a list or map", place,
                             key);
    }
    if (entries->size() == kEntriesMax) {
      return InvalidArgument("{}more than {} options", place, kEntriesMax);
    }
    entries->push_back({key, item.second.Scalar(), place});
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<ConfigEntry>> ParseConfigText(
    std::string_view text) {
  std::vector<ConfigEntry> entries;
  if (text.find_first_not_of(" \t\r\n") == text.npos) return entries;
  FM_RETURN_IF_ERROR(ReadYamlText(text, [&](const YAML::Node& root) {
    return ReadEntries(root, &entries);
  }));
  return entries;
}

std::string QuoteConfigValue(std::string_view value) {
  // JSON strings are valid YAML. Invalid UTF-8 becomes U+FFFD.
  return nlohmann::json(std::string(value))
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace feedmill
