#include "core/dataset/graph_text.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <nlohmann/json.hpp>

#include "core/base/glob_pattern.h"
#include "core/base/status.h"
#include "core/dataset/canonical_json.h"
#include "core/dataset/named_files.h"
#include "core/dataset/source_types.h"

namespace feedmill {
namespace {

using Json = nlohmann::json;

template <class T>
Json Optional(const std::optional<T>& value) {
  return value.has_value() ? Json(*value) : Json(nullptr);
}

// The value of a field. Lists of pairs keep their order.
struct FieldToJson {
  const Field& field;

  Json operator()(const bool* v) const { return *v; }
  Json operator()(const int64_t* v) const {
    return *v == 0 && field.if_unset != nullptr ? *field.if_unset : *v;
  }
  Json operator()(const double* v) const { return *v; }
  Json operator()(const std::string* v) const { return BytesToJson(*v); }
  Json operator()(const std::optional<int64_t>* v) const {
    return Optional(*v);
  }
  Json operator()(const std::optional<uint64_t>* v) const {
    return Optional(*v);
  }
  Json operator()(const std::vector<int64_t>* v) const { return *v; }
  Json operator()(const ComponentName& v) const { return BytesToJson(*v.name); }
  Json operator()(const FilePath& v) const { return BytesToJson(*v.path); }
  Json operator()(const Word& v) const { return std::string(v.word()); }
  Json operator()(const Expr* v) const { return v->ToString(); }
  Json operator()(const Outputs* v) const {
    Json list = Json::array();
    for (const auto& [name, expr] : *v) {
      list.push_back(Json::array({BytesToJson(name), expr.ToString()}));
    }
    return list;
  }
  Json operator()(const Features* v) const {
    Json list = Json::array();
    for (const Feature& f : *v) {
      list.push_back(Json::array(
          {BytesToJson(f.name), std::string(DTypeName(f.dtype)), f.shape}));
    }
    return list;
  }
  Json operator()(const PaddingList& v) const {
    Json list = Json::array();
    for (const Padding& p : *v.padding) {
      list.push_back(
          Json::array({BytesToJson(p.component), Optional(p.shape), p.value}));
    }
    return list;
  }
};

// The value of a step; its key is its name.
Json StepToJson(const Step& step) {
  Json out = Json::object();
  step.ReadFields([&](const FieldList& fields) {
    for (const Field& field : fields) {
      if (field.Has(Field::kSparse) && IsUnset(field.value)) continue;
      out[std::string(field.name)] =
          std::visit(FieldToJson{field}, field.value);
    }
  });
  return out;
}

Json ToJson(const Graph& graph) {
  const bool any = graph.options.order == Order::kAny;
  const bool off =
      graph.options.processing_mode == Options::ProcessingMode::kOff;
  Json json = InputToJson(graph);
  json["options"] = {{"order", any ? "any" : "deterministic"},
                     {"processing_mode", off ? "off" : "dynamic"},
                     {"seed", Optional(graph.options.seed)}};
  if (!graph.plugins.empty()) json["plugins"] = graph.plugins;
  return json;
}

}  // namespace

Json InputToJson(const Graph& graph) {
  Json steps = Json::array();
  for (const Step& step : graph.steps) {
    Json one = Json::object();
    one[std::string(step.name())] = StepToJson(step);
    steps.push_back(std::move(one));
  }
  return {{"source", SourceToJson(graph.source)}, {"steps", std::move(steps)}};
}

namespace {

void MakePathAbsolute(const std::string& directory, std::string& file) {
  if (file.empty() || file[0] == '/') return;
  if (file.find("://") != std::string::npos) return;
  std::string_view rest = file;
  while (rest.substr(0, 2) == "./") rest.remove_prefix(2);
  const bool slash = !directory.empty() && directory.back() == '/';
  file = fmt::format("{}{}{}", directory, slash ? "" : "/", rest);
}

}  // namespace

void MakePathsAbsolute(const std::string& directory, Graph& graph) {
  for (Step& step : graph.steps) {
    step = step.Changed([&](const FieldList& fields) {
      for (const Field& field : fields) {
        if (const auto* file = std::get_if<FilePath>(&field.value)) {
          MakePathAbsolute(directory, *file->path);
        }
      }
    });
    ChangeNamedFiles(
        [&](std::string& path) { MakePathAbsolute(directory, path); }, step);
  }
  if (auto* inputs = SourceInputs(graph.source)) {
    for (Graph& input : *inputs) MakePathsAbsolute(directory, input);
  }
  std::vector<std::string>* const files = SourceFiles(graph.source);
  if (files == nullptr) return;
  const std::string escaped = EscapedPattern(directory);
  for (std::string& file : *files) MakePathAbsolute(escaped, file);
}

std::string CanonicalText(const Graph& graph) { return ToJson(graph).dump(); }

std::string Fingerprint(const Graph& graph) {
  Json json = ToJson(graph);
  json["options"].erase("seed");
  json["options"].erase("order");
  const std::string text = json.dump();
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace feedmill
