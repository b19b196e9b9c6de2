#ifndef FEEDMILL_CORE_DEFINITION_STEP_TEXT_H_
#define FEEDMILL_CORE_DEFINITION_STEP_TEXT_H_

#include <yaml-cpp/node/node.h>

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/dataset/fields.h"
#include "core/dataset/step_kind.h"
#include "core/definition/yaml_values.h"

namespace feedmill {

// Parts of pipeline_text.h; only its .cc files include this.

// Reads the values of steps in YAML by their fields. Counts the terms of all
// expressions against a bound.
class StepYaml {
 public:
  explicit StepYaml(YamlValues& values) : values_(values) {}

  // `at`: where the step's name stands; `where` is "steps[1] batch".
  absl::StatusOr<Step> Read(const StepKind& kind, const std::string& name,
                            const std::string& where, const YAML::Node& at,
                            const YAML::Node& value);

 private:
  absl::Status ReadFields(const FieldList& fields, const StepKind& kind,
                          const std::string& where, const YAML::Node& at,
                          const YAML::Node& value);
  absl::Status ReadField(const Field& field, const std::string& where,
                         const YAML::Node& value);
  absl::Status ReadExpr(const YAML::Node& node, const std::string& where,
                        Expr& out);
  absl::Status ReadOutputs(const YAML::Node& node, const std::string& where,
                           Outputs& outputs);
  absl::Status ReadFeatures(const YAML::Node& node, const std::string& where,
                            Features& features);
  absl::Status ReadIntegers(const YAML::Node& node, const std::string& where,
                            std::vector<int64_t>& out);
  // `key`: "shapes" or "values".
  absl::Status ReadPadding(const YAML::Node& node, const std::string& where,
                           const std::string& key,
                           std::vector<Padding>& padding);
  absl::Status ReadShape(const YAML::Node& node, const std::string& where,
                         std::optional<Shape>& shape);

  YamlValues& values_;
  size_t terms_ = 0;  // of all expressions
};

// Nothing, or a seed.
absl::Status ReadSeedYaml(YamlValues& values, const std::string& where,
                          const YAML::Node& node, std::optional<uint64_t>& out);

// Reads a step of the canonical text, an object with one key.
absl::StatusOr<Step> ReadStepJson(const nlohmann::json& json);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DEFINITION_STEP_TEXT_H_
