// Steps with several keys, in the YAML of a pipeline.

#include <yaml-cpp/yaml.h>

#include "core/base/status.h"
#include "core/dataset/step_text.h"

namespace feedmill {

absl::Status ReadSeedYaml(YamlValues& values, const std::string& where,
                          const YAML::Node& node,
                          std::optional<uint64_t>& out) {
  if (node.IsNull()) return absl::OkStatus();
  uint64_t seed = 0;
  FM_RETURN_IF_ERROR(values.ReadInteger(node, where, seed));
  out = seed;
  return absl::OkStatus();
}

absl::Status ReadShuffleYaml(YamlValues& values, const std::string& where,
                             const YAML::Node& value, ShuffleStep& step) {
  if (value.IsScalar()) {  // tf.data's shuffle(1000)
    return YamlValues::Error(
        value, where,
        fmt::format("expected a map with seed, window, block, files, found "
                    "{}; `shuffle: {{window: N}}` shuffles N elements at a "
                    "time, `shuffle:` alone shuffles all of them",
                    YamlValues::Kind(value)));
  }
  return values.ForEachOptionalKey(
      value, where, {"seed", "window", "block", "files"},
      [&](const std::string& key, const YAML::Node& v) {
        const std::string at = where + " " + key;
        if (key == "seed") return ReadSeedYaml(values, at, v, step.seed);
        if (key == "files") return values.ReadBool(v, at, step.files);
        return values.ReadInteger(
            v, at, (key == "window" ? step.window : step.block).emplace());
      });
}

// on_error: skip, or on_error: {policy: skip, cap: 100, quarantine: bad.jsonl}
absl::Status ReadOnErrorYaml(YamlValues& values, const std::string& where,
                             const YAML::Node& value, OnErrorStep& step) {
  const auto policy = [&](const YAML::Node& v) {
    size_t word = 0;
    FM_RETURN_IF_ERROR(values.ReadWord(v, where, {"fail", "skip"}, word));
    step.policy =
        word == 0 ? OnErrorStep::Policy::kFail : OnErrorStep::Policy::kSkip;
    return absl::OkStatus();
  };
  if (!value.IsMap()) return policy(value);
  bool said = false;
  FM_RETURN_IF_ERROR(values.ForEachKey(
      value, where, {"policy", "cap", "quarantine"},
      [&](const std::string& key, const YAML::Node& v) {
        if (key == "policy") {
          said = true;
          return policy(v);
        }
        if (key == "cap") {
          return values.ReadInteger(v, where + " cap", step.cap.emplace());
        }
        return values.ReadString(v, where + " quarantine", "a file",
                                 step.quarantine);
      }));
  if (said) return absl::OkStatus();
  return YamlValues::Error(value, where, "there is no policy (fail or skip)");
}

// cache:, or cache: /folder, or with its values.
absl::Status ReadCacheYaml(YamlValues& values, const std::string& where,
                           const YAML::Node& value, CacheStep& step) {
  const auto path = [&](const YAML::Node& v) {
    return values.ReadString(v, where, "a folder", step.path);
  };
  if (value.IsScalar()) return path(value);
  return values.ForEachOptionalKey(
      value, where, {"path", "memory_bytes"},
      [&](const std::string& key, const YAML::Node& v) {
        if (key == "path") return path(v);
        return values.ReadInteger(v, where + " memory_bytes",
                                  step.memory_bytes.emplace());
      });
}

}  // namespace feedmill
