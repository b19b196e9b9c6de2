#ifndef FEEDMILL_CORE_PLUGINS_SHIPPED_PLUGIN_H_
#define FEEDMILL_CORE_PLUGINS_SHIPPED_PLUGIN_H_

#include <optional>
#include <string>
#include <vector>

namespace feedmill {

// A plugin that is built and installed with feedmill, and found without a flag.
struct ShippedPlugin {
  const char* variable;  // the environment variable that names its path
  const char* file;      // "libfeedmill_arrow.so"
};

// Returns the paths at which it may be, the preferred one first: the variable
// alone if it is set, else beside this program or shared object.
std::vector<std::string> PlacesOf(const ShippedPlugin& plugin);
// Returns the first of these paths that exists.
std::optional<std::string> FileOf(const ShippedPlugin& plugin);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PLUGINS_SHIPPED_PLUGIN_H_
