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

// Reads a config file: YAML (or JSON), a map from option to a single value.
// Nothing at all is no options. InvalidArgument with the place of what is
// wrong: no map, a list, an absent value, a key that is there twice. Pure.
absl::StatusOr<std::vector<ConfigEntry>> ParseConfigText(std::string_view text);

// `value` as ParseConfigText reads it back, in quotes.
std::string QuoteConfigValue(std::string_view value);

}  // namespace feedmill

#endif  // FEEDMILL_TOOLS_COMMAND_CONFIG_TEXT_H_
