#include "python/src/definition.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

#include "core/dataset/fields.h"
#include "core/dataset/function_registry.h"
#include "core/dataset/graph.h"
#include "core/dataset/graph_text.h"
#include "core/dataset/source_kind.h"
#include "core/dataset/step_kind.h"
#include "core/operators/registry.h"
#include "core/ops/plugin_functions.h"
#include "feedmill/expr.h"
#include "python/src/status.h"

namespace feedmill::python {
namespace {

using Json = nlohmann::ordered_json;

struct KindOfField {
  std::string_view operator()(const bool*) const { return "bool"; }
  std::string_view operator()(const int64_t*) const { return "int"; }
  std::string_view operator()(const double*) const { return "float"; }
  std::string_view operator()(const std::string*) const { return "text"; }
  std::string_view operator()(const std::optional<int64_t>*) const {
    return "int";
  }
  std::string_view operator()(const std::optional<uint64_t>*) const {
    return "int";
  }
  std::string_view operator()(const std::vector<int64_t>*) const {
    return "ints";
  }
  std::string_view operator()(const std::vector<double>*) const {
    return "floats";
  }
  std::string_view operator()(const std::vector<std::string>*) const {
    return "texts";
  }
  std::string_view operator()(const FileNames&) const { return "files"; }
  std::string_view operator()(const FileCompression&) const {
    return "compression";
  }
  std::string_view operator()(const DeclaredFields&) const { return "fields"; }
  std::string_view operator()(const InputPipelines&) const { return "inputs"; }
  std::string_view operator()(const ComponentName&) const {
    return "component";
  }
  std::string_view operator()(const FilePath&) const { return "path"; }
  std::string_view operator()(const Word&) const { return "word"; }
  std::string_view operator()(const Expr*) const { return "expression"; }
  std::string_view operator()(const Outputs*) const { return "expressions"; }
  std::string_view operator()(const Features*) const { return "features"; }
  std::string_view operator()(const PaddingList&) const { return "padding"; }
};

Json FieldJson(std::string_view name, const Field& field) {
  Json out;
  out["name"] = std::string(name);
  out["kind"] = std::string(std::visit(KindOfField(), field.value));
  out["required"] = field.Has(Field::kRequired);
  out["short"] = field.Has(Field::kShort);
  out["whole"] = field.Has(Field::kWhole);
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

std::vector<std::string> AbsoluteFiles(std::vector<std::string> files,
                                       const std::string& directory) {
  Graph graph;
  graph.source = MakeSource(TextSource{.files = std::move(files)});
  MakePathsAbsolute(directory, graph);
  return graph.source.Get<TextSource>().files;
}

std::string AbsolutePath(const std::string& path,
                         const std::string& directory) {
  Graph graph;
  graph.steps.push_back(MakeStep(CacheStep{.path = path}));
  MakePathsAbsolute(directory, graph);
  return graph.steps[0].Get<CacheStep>().path;
}

std::string AbsoluteExpression(const std::string& text,
                               const std::string& directory) {
  absl::StatusOr<Expr> parsed = Expr::Parse(text);
  if (!parsed.ok()) return text;
  const std::string written = parsed->ToString();
  Graph graph;
  graph.steps.push_back(MakeStep(FilterStep{.predicate = *std::move(parsed)}));
  MakePathsAbsolute(directory, graph);
  std::string absolute = graph.steps[0].Get<FilterStep>().predicate.ToString();
  return absolute == written ? text : absolute;
}

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
