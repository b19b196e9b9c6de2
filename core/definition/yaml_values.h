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

// Reads typed values from the YAML nodes of one text. Errors have the line and
// the column. All nodes are counted against a bound, aliases at each use.
// `where` names what is read: "steps[1] batch size". Not thread-safe. Only
// readers of YAML include this header (yaml-cpp is heavy).
class YamlValues {
 public:
  using Names = std::vector<std::string_view>;
  using OnKey = std::function<absl::Status(const std::string& key,
                                           const YAML::Node& value)>;

  static absl::Status Error(const YAML::Node& node, const std::string& where,
                            const std::string& what);
  // Returns "a list", "nothing", or the scalar in quotes, for "found …".
  static std::string Kind(const YAML::Node& node);
  static std::string Quoted(const std::string& text);
  static std::string Joined(const Names& names);
  // Returns the end of the message about a name that is not among `known`:
  // advice about another library's name, the nearest name, or all names.
  static std::string HintFor(const std::string& name, const std::string& where,
                             const Names& known);

  absl::Status Count(const YAML::Node& node);
  absl::Status ReadKey(const YAML::Node& key, const std::string& where,
                       std::string& out);
  // Calls on_key for the keys of a map, which must be known and unique.
  absl::Status ForEachKey(const YAML::Node& map, const std::string& where,
                          const Names& known, const OnKey& on_key);
  // Same, but accepts an absent value, which means all defaults.
  absl::Status ForEachOptionalKey(const YAML::Node& map,
                                  const std::string& where, const Names& known,
                                  const OnKey& on_key);
  // Reads an unquoted decimal or 0x… integer.
  absl::Status ReadInteger(const YAML::Node& node, const std::string& where,
                           int64_t& out);
  absl::Status ReadInteger(const YAML::Node& node, const std::string& where,
                           uint64_t& out);
  absl::Status ReadReal(const YAML::Node& node, const std::string& where,
                        double& out);
  absl::Status ReadBool(const YAML::Node& node, const std::string& where,
                        bool& out);
  // Reads a scalar; otherwise, the error says that `what` is expected.
  absl::Status ReadString(const YAML::Node& node, const std::string& where,
                          const char* what, std::string& out);
  // Reads one of a few words; `out` is its index.
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
