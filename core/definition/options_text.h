#ifndef FEEDMILL_CORE_DEFINITION_OPTIONS_TEXT_H_
#define FEEDMILL_CORE_DEFINITION_OPTIONS_TEXT_H_

#include <yaml-cpp/node/node.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/dataset/fields.h"
#include "core/dataset/graph.h"
#include "core/dataset/source_kind.h"
#include "core/dataset/step_kind.h"
#include "core/definition/yaml_values.h"

namespace feedmill {

// Internals of pipeline_text.h; only its .cc files include this header.

// Deepest nesting of inputs, and most inputs in total.
inline constexpr size_t kInputDepthMax = 8;
inline constexpr size_t kInputsInAllMax = 1000;

// Reads one input of a source: its source and steps.
using ReadInputYaml = std::function<absl::Status(const YAML::Node&, Graph&)>;
using ReadInputJson =
    std::function<absl::Status(const nlohmann::json&, Graph&)>;

// Reads the options of steps and sources from YAML, by their fields. Counts the
// terms of all expressions against a bound.
class OptionsYaml {
 public:
  OptionsYaml(YamlValues& values, ReadInputYaml read_input)
      : values_(values), read_input_(std::move(read_input)) {}

  // `at`: node of the step's name; `where` is "steps[1] batch".
  absl::StatusOr<Step> ReadStep(const StepKind& kind, const std::string& name,
                                const std::string& where, const YAML::Node& at,
                                const YAML::Node& value);
  // `at`: node of the source's name.
  absl::StatusOr<Source> ReadSource(const SourceKind& kind,
                                    const YAML::Node& at,
                                    const YAML::Node& value);

 private:
  absl::Status ReadFields(const FieldList& fields, const std::string& where,
                          std::string_view short_form_hint,
                          const YAML::Node& at, const YAML::Node& value);
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

  absl::Status ReadReals(const YAML::Node& node, const std::string& where,
                         std::vector<double>& out);
  // Reads a text or a list of texts; otherwise, the error says that `what` is
  // expected.
  absl::Status ReadStrings(const YAML::Node& node, const std::string& where,
                           const char* what, std::vector<std::string>& out);
  absl::Status ReadFileNames(const YAML::Node& node, const std::string& where,
                             std::vector<std::string>& out);
  absl::Status ReadDeclaredFields(const YAML::Node& node,
                                  const std::string& where,
                                  std::vector<SourceField>& fields);
  absl::Status ReadInputs(const YAML::Node& node, const std::string& where,
                          std::vector<Graph>& inputs);

  YamlValues& values_;
  const ReadInputYaml read_input_;
  size_t terms_ = 0;  // of all expressions
};

// Reads an absent value or a seed.
absl::Status ReadSeedYaml(YamlValues& values, const std::string& where,
                          const YAML::Node& node, std::optional<uint64_t>& out);

// Read a step or a source of the canonical text, which are objects with one
// key.
absl::StatusOr<Step> ReadStepJson(const nlohmann::json& json);
absl::StatusOr<Source> ReadSourceJson(const nlohmann::json& json,
                                      const ReadInputJson& read_input);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DEFINITION_OPTIONS_TEXT_H_
