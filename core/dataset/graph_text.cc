#include "core/dataset/graph_text.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/glob_pattern.h"
#include "core/base/status.h"
#include "core/base/utf8.h"
#include "core/dataset/lookup_step.h"
#include "core/dataset/named_files.h"
#include "core/dataset/source_types.h"

namespace feedmill {
namespace {

using Json = nlohmann::json;

struct Content {
  unsigned skipped = 0;  // fields with this flag are left out
  bool texts = true;     // else text is bytes
};

// Converts an input of a source, or a whole graph: its source and steps.
Json InputToJson(const Graph& graph, const Content& content);

// Converts a name or a path: a string, or {"hex": …} if it is not UTF-8.
Json BytesToJson(const std::string& bytes) {
  if (IsUtf8(bytes)) return bytes;
  std::string hex;
  for (char c : bytes) {
    hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
  }
  return Json{{"hex", hex}};
}

template <class T>
Json Optional(const std::optional<T>& value) {
  return value.has_value() ? Json(*value) : Json(nullptr);
}

template <class List>
Json TypesToJson(const List& list, const Content& content) {
  Json out = Json::array();
  for (const auto& one : list) {
    const bool plain = !content.texts && one.logical == LogicalType::kString;
    const std::string_view type =
        plain ? DTypeName(one.dtype) : TypeName(one.dtype, one.logical);
    Json& typed = out.emplace_back(
        Json::array({BytesToJson(one.name), std::string(type), one.shape}));
    if (one.default_text) typed.push_back(BytesToJson(*one.default_text));
  }
  return out;
}

Json StringsToJson(const std::vector<std::string>& strings) {
  Json out = Json::array();
  for (const std::string& one : strings) out.push_back(BytesToJson(one));
  return out;
}

// Converts the value of a field. Lists of pairs keep their order.
struct FieldToJson {
  const Field& field;
  const Content& content;

  Json operator()(const bool* v) const { return *v; }
  Json operator()(const int64_t* v) const {
    return *v == 0 ? field.if_unset.value_or(0) : *v;
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
  Json operator()(const std::vector<double>* v) const { return *v; }
  Json operator()(const std::vector<std::string>* v) const {
    return StringsToJson(*v);
  }
  Json operator()(const FileNames& v) const { return StringsToJson(*v.files); }
  Json operator()(const FileCompression& v) const {
    return std::string(
        CompressionName(ResolvedCompression(*v.compression, *v.files)));
  }
  Json operator()(const DeclaredFields& v) const {
    return TypesToJson(*v.fields, content);
  }
  Json operator()(const InputPipelines& v) const {
    Json list = Json::array();
    for (const Graph& input : *v.inputs)
      list.push_back(InputToJson(input, content));
    return list;
  }
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
  Json operator()(const Features* v) const { return TypesToJson(*v, content); }
  Json operator()(const PaddingList& v) const {
    Json list = Json::array();
    for (const Padding& p : *v.padding) {
      list.push_back(
          Json::array({BytesToJson(p.component), Optional(p.shape), p.value}));
    }
    return list;
  }
};

// Converts a step or a source: an object with its name as the only key.
template <class Kind>
Json NamedToJson(std::string_view name, const Configured<Kind>& one,
                 const Content& content) {
  Json value = Json::object();
  one.ReadFields([&](const FieldList& fields) {
    for (const Field& field : fields) {
      if (field.Has(Field::kSparse) && IsUnset(field.value)) continue;
      if ((field.flags & content.skipped) != 0) continue;
      value[std::string(field.name)] =
          std::visit(FieldToJson{field, content}, field.value);
    }
  });
  Json out = Json::object();
  out[std::string(name)] = std::move(value);
  return out;
}

Json InputToJson(const Graph& graph, const Content& content) {
  Json steps = Json::array();
  for (const Step& step : graph.steps) {
    steps.push_back(NamedToJson(step.name(), step, content));
  }
  Json source = graph.source.empty()
                    ? Json::object()
                    : NamedToJson(graph.source.name(), graph.source, content);
  return {{"source", std::move(source)}, {"steps", std::move(steps)}};
}

Json ToJson(const Graph& graph, const Content& content) {
  const bool any = graph.options.order == Order::kAny;
  const bool off =
      graph.options.processing_mode == Options::ProcessingMode::kOff;
  Json json = InputToJson(graph, content);
  json["options"] = {{"order", any ? "any" : "deterministic"},
                     {"processing_mode", off ? "off" : "dynamic"},
                     {"seed", Optional(graph.options.seed)}};
  if (!graph.plugins.empty()) json["plugins"] = graph.plugins;
  if (!graph.part.empty()) json["part"] = graph.part;
  if (graph.sequenced) json["sequenced"] = true;
  return json;
}

bool HasPython(const Graph& graph) {
  const std::vector<Graph>* const inputs = SourceInputs(graph.source);
  return std::ranges::any_of(graph.steps,
                             [](const Step& step) {
                               return step.As<PythonStep>() != nullptr;
                             }) ||
         (inputs != nullptr && std::ranges::any_of(*inputs, HasPython));
}

// The content of a fingerprint. Only Python functions see whether bytes are
// text.
Content IdentityOf(const Graph& graph) {
  return {Field::kUnidentified, HasPython(graph)};
}

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
  const auto change = [&](Graph& table) {
    MakePathsAbsolute(directory, table);
    return absl::OkStatus();
  };
  ChangeTables(change, graph).IgnoreError();
  if (auto* inputs = MutableSourceInputs(graph.source)) {
    for (Graph& input : *inputs) MakePathsAbsolute(directory, input);
  }
  if (!graph.source.empty()) {
    graph.source.Change([&](const FieldList& fields) {
      for (const Field& field : fields) {
        if (const auto* file = std::get_if<FilePath>(&field.value)) {
          MakePathAbsolute(directory, *file->path);
        }
      }
    });
  }
  std::vector<std::string>* const files = MutableSourceFiles(graph.source);
  if (files == nullptr) return;
  const std::string escaped = EscapedPattern(directory);
  constexpr std::string_view kList = "manifest:";  // core/io/file_list.h
  for (std::string& file : *files) {
    if (file.starts_with(kList)) {
      // The name of a file list is not a pattern.
      file.erase(0, kList.size());
      MakePathAbsolute(directory, file);
      file.insert(0, kList);
    } else {
      MakePathAbsolute(escaped, file);
    }
  }
}

std::string CanonicalText(const Graph& graph) {
  return ToJson(graph, {}).dump();
}

std::string IdentityText(const Graph& graph) {
  return ToJson(graph, IdentityOf(graph)).dump();
}

std::string Fingerprint(const Graph& graph) {
  Json json = ToJson(graph, IdentityOf(graph));
  json["options"].erase("seed");
  json["options"].erase("order");
  const std::string text = json.dump();
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace feedmill
