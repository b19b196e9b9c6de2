#ifndef FEEDMILL_TOOLS_COMMAND_CONFIG_TEXT_H_
#define FEEDMILL_TOOLS_COMMAND_CONFIG_TEXT_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace feedmill {

// One option of a config file: "work_dir: /var/lib/feedmill".
struct ConfigEntry {
  std::string key;
  std::string value;
  std::string place;  // "line 3, column 1: "
};

// Parses a config file: YAML (or JSON), a map from options to single values. An
// empty file has no options. InvalidArgument gives the place of the fault: not
// a map, a list, a missing value, a duplicate key. Pure.
absl::StatusOr<std::vector<ConfigEntry>> ParseConfigText(std::string_view text);

// Quotes `value` so that ParseConfigText reads it back.
std::string QuoteConfigValue(std::string_view value);

}  // namespace feedmill

#endif  // FEEDMILL_TOOLS_COMMAND_CONFIG_TEXT_H_
