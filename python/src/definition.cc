#include "python/src/definition.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

#include "core/dataset/fields.h"
#include "core/dataset/function_registry.h"
#include "core/dataset/graph.h"
#include "core/dataset/source_kind.h"
#include "core/dataset/step_kind.h"
#include "core/definition/pipeline_text.h"
#include "core/operators/registry.h"
#include "core/ops/plugin_functions.h"
#include "python/src/status.h"

namespace feedmill::python {
namespace {

using Json = nlohmann::ordered_json;

Json FieldJson(std::string_view name, const Field& field) {
  Json out;
  out["name"] = std::string(name);
  out["kind"] = TypeOf(field);
  out["required"] = field.Has(Field::kRequired);
  out["help"] = std::string(field.help);
  if (const auto* word = std::get_if<Word>(&field.value)) {
    for (const std::string_view choice : word->words()) {
      out["words"].push_back(std::string(choice));
    }
  }
  return out;
}

// Converts a step or a source to JSON with the keys of its YAML.
template <class Kind, class Configured>
Json KindJson(const Kind& kind, std::string_view name,
              const Configured& defaults) {
  Json fields = Json::array();
  defaults.ReadFields([&](const FieldList& list) {
    for (const Field& field : list) {
      for (const std::string_view key : YamlKeysOf(field)) {
        fields.push_back(FieldJson(key, field));
      }
    }
  });
  return {{"name", std::string(name)},
          {"summary", std::string(kind.summary())},
          {"fields", std::move(fields)}};
}

std::shared_ptr<const FunctionRegistry> Functions() {
  static const std::shared_ptr<const FunctionRegistry> functions =
      Take(DefaultFunctions());
  return functions;
}

}  // namespace

std::string StepsJson() {
  Json steps = Json::array();
  for (const StepKind* const kind : StepKinds()) {
    for (const std::string_view name : kind->names()) {
      steps.push_back(KindJson(*kind, name, kind->New(name)));
    }
  }
  return steps.dump();
}

std::string SourcesJson() {
  Json sources = Json::array();
  for (const SourceKind* const kind : SourceKinds()) {
    sources.push_back(KindJson(*kind, kind->name(), kind->New()));
  }
  return sources.dump();
}

std::vector<std::string> FunctionNames() {
  const std::vector<std::string_view> names = Functions()->Names();
  return {names.begin(), names.end()};
}

std::string NearestFunction(std::string_view name) {
  return Functions()->Nearest(name);
}

}  // namespace feedmill::python
