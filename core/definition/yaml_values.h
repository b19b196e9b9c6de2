#ifndef FEEDMILL_CORE_DEFINITION_YAML_VALUES_H_
#define FEEDMILL_CORE_DEFINITION_YAML_VALUES_H_

#include <yaml-cpp/yaml.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace feedmill {

// Reads typed values out of YAML nodes for one text: each error has the line
// and the column, and all that is read is counted against a bound, aliases at
// each use. `where` says what is read, "steps[1] batch size". Not thread-safe.
// Only the readers of YAML include this (yaml-cpp is
// heavy).
class YamlValues {
 public:
  using Names = std::vector<std::string_view>;
  using OnKey = std::function<absl::Status(const std::string& key,
                                           const YAML::Node& value)>;

  static absl::Status Error(const YAML::Node& node, const std::string& where,
                            const std::string& what);
  // "a list", "nothing", or the scalar in quotes: to end "found …" with.
  static std::string Kind(const YAML::Node& node);
  static std::string Quoted(const std::string& text);
  static std::string Joined(const Names& names);
  // Ends the message about a name that is not among `known`: what to write
  // instead of another library's name, the nearest name, or all of them.
  static std::string HintFor(const std::string& name, const std::string& where,
                             const Names& known);

  absl::Status Count(const YAML::Node& node);
  absl::Status ReadKey(const YAML::Node& key, const std::string& where,
                       std::string& out);
  // Calls on_key for the keys of a map: known ones only, each once.
  absl::Status ForEachKey(const YAML::Node& map, const std::string& where,
                          const Names& known, const OnKey& on_key);
  // The same for a map, or nothing at all for all defaults.
  absl::Status ForEachOptionalKey(const YAML::Node& map,
                                  const std::string& where, const Names& known,
                                  const OnKey& on_key);
  // Decimal or 0x…, unquoted.
  absl::Status ReadInteger(const YAML::Node& node, const std::string& where,
                           int64_t& out);
  absl::Status ReadInteger(const YAML::Node& node, const std::string& where,
                           uint64_t& out);
  absl::Status ReadReal(const YAML::Node& node, const std::string& where,
                        double& out);
  absl::Status ReadBool(const YAML::Node& node, const std::string& where,
                        bool& out);
  // A scalar; `what` is said to be expected otherwise.
  absl::Status ReadString(const YAML::Node& node, const std::string& where,
                          const char* what, std::string& out);
  // One of a few words; `out` gets its index.
  absl::Status ReadWord(const YAML::Node& node, const std::string& where,
                        const Names& words, size_t& out);

 private:
  template <class T>
  absl::Status ReadAnyInteger(const YAML::Node& node, const std::string& where,
                              T& out);

  size_t nodes_ = 0;
  size_t scalar_bytes_ = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DEFINITION_YAML_VALUES_H_
