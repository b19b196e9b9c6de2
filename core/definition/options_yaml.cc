// Reads options of steps and sources from the YAML of a pipeline, by their
// fields.

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <utility>

#include "core/base/status.h"
#include "core/dataset/shape_text.h"
#include "core/definition/options_text.h"

namespace feedmill {
namespace {

constexpr size_t kListMax = 1000;
constexpr size_t kTermsMax = 100'000;

YamlValues::Names KeysOf(const FieldList& fields) {
  YamlValues::Names keys;
  for (const Field& field : fields) {
    const YamlValues::Names more = YamlKeysOf(field);
    keys.insert(keys.end(), more.begin(), more.end());
  }
  return keys;
}

const Field& FieldOf(const FieldList& fields, const std::string& key) {
  return *std::find_if(fields.begin(), fields.end(), [&](const Field& field) {
    const YamlValues::Names keys = YamlKeysOf(field);
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  });
}

const Field* FieldWith(const FieldList& fields, Field::Flag flag) {
  for (const Field& field : fields) {
    if (field.Has(flag)) return &field;
  }
  return nullptr;
}

// True if the step's name alone is not a complete step.
bool NeedsValue(const FieldList& fields) {
  return std::any_of(fields.begin(), fields.end(), [](const Field& field) {
    return field.Has(Field::kRequired) ||
           std::holds_alternative<Features*>(field.value);
  });
}

Padding& PaddingOf(const std::string& name, std::vector<Padding>& padding) {
  for (Padding& p : padding) {
    if (p.component == name) return p;
  }
  padding.push_back({name, std::nullopt, 0});
  return padding.back();
}

}  // namespace

absl::Status ReadSeedYaml(YamlValues& values, const std::string& where,
                          const YAML::Node& node,
                          std::optional<uint64_t>& out) {
  if (node.IsNull()) return absl::OkStatus();
  uint64_t seed = 0;
  FM_RETURN_IF_ERROR(values.ReadInteger(node, where, seed));
  out = seed;
  return absl::OkStatus();
}

absl::StatusOr<Step> OptionsYaml::ReadStep(const StepKind& kind,
                                           const std::string& name,
                                           const std::string& where,
                                           const YAML::Node& at,
                                           const YAML::Node& value) {
  absl::Status status;
  Step step = kind.New(name);
  step.Change([&](const FieldList& fields) {
    status = ReadFields(fields, where, kind.short_form_hint(), at, value);
  });
  if (!status.ok()) return status;
  return step;
}

absl::StatusOr<Source> OptionsYaml::ReadSource(const SourceKind& kind,
                                               const YAML::Node& at,
                                               const YAML::Node& value) {
  absl::Status status;
  Source source = kind.New();
  source.Change([&](const FieldList& fields) {
    status = ReadFields(fields, std::string(kind.name()), "", at, value);
  });
  if (!status.ok()) return status;
  return source;
}

absl::Status OptionsYaml::ReadFields(const FieldList& fields,
                                     const std::string& where,
                                     std::string_view short_form_hint,
                                     const YAML::Node& at,
                                     const YAML::Node& value) {
  const bool none = !value.IsDefined() || value.IsNull();
  if (none && NeedsValue(fields)) {
    return YamlValues::Error(at, where, "it needs a value; see docs/steps.md");
  }
  if (const Field* const whole = FieldWith(fields, Field::kWhole)) {
    return ReadField(*whole, where, value);
  }
  const Field* const single = FieldWith(fields, Field::kShort);
  if (single != nullptr && !none && !value.IsMap()) {
    return ReadField(*single, where, value);
  }
  if (value.IsScalar() && !short_form_hint.empty()) {
    return YamlValues::Error(
        value, where,
        fmt::format("expected a map with {}, found {}{}",
                    YamlValues::Joined(KeysOf(fields)), YamlValues::Kind(value),
                    short_form_hint));
  }
  YamlValues::Names missing;
  for (const Field& field : fields) {
    if (field.Has(Field::kRequired)) missing.push_back(field.name);
  }
  FM_RETURN_IF_ERROR(values_.ForEachOptionalKey(
      value, where, KeysOf(fields),
      [&](const std::string& key, const YAML::Node& v) {
        std::erase(missing, key);
        const Field& field = FieldOf(fields, key);
        const std::string place = where + " " + key;
        if (const auto* padding = std::get_if<PaddingList>(&field.value)) {
          return ReadPadding(v, place, key, *padding->padding);
        }
        return ReadField(field, place, v);
      }));
  if (missing.empty()) return absl::OkStatus();
  return YamlValues::Error(at, where,
                           fmt::format("there is no {}", missing.front()));
}

absl::Status OptionsYaml::ReadField(const Field& field,
                                    const std::string& where,
                                    const YAML::Node& value) {
  struct Visitor {
    OptionsYaml& options;
    const Field& field;
    const std::string& where;
    const YAML::Node& node;

    absl::Status operator()(bool* out) const {
      return options.values_.ReadBool(node, where, *out);
    }
    absl::Status operator()(int64_t* out) const {
      FM_RETURN_IF_ERROR(options.values_.ReadInteger(node, where, *out));
      if (*out != 0 || !field.Has(Field::kPositive)) return absl::OkStatus();
      return YamlValues::Error(node, where, "expected 1 or more, found 0");
    }
    absl::Status operator()(double* out) const {
      return options.values_.ReadReal(node, where, *out);
    }
    absl::Status operator()(std::string* out) const {
      return options.values_.ReadString(node, where, "a text", *out);
    }
    absl::Status operator()(std::optional<int64_t>* out) const {
      return options.values_.ReadInteger(node, where, out->emplace());
    }
    absl::Status operator()(std::optional<uint64_t>* out) const {
      return ReadSeedYaml(options.values_, where, node, *out);
    }
    absl::Status operator()(std::vector<int64_t>* out) const {
      return options.ReadIntegers(node, where, *out);
    }
    absl::Status operator()(const ComponentName& out) const {
      return options.values_.ReadString(node, where, "a component", *out.name);
    }
    absl::Status operator()(const FilePath& out) const {
      return options.values_.ReadString(
          node, where, out.folder ? "a folder" : "a file", *out.path);
    }
    absl::Status operator()(const Word& out) const {
      size_t index = 0;
      FM_RETURN_IF_ERROR(
          options.values_.ReadWord(node, where, out.words(), index));
      out.set(index);
      return absl::OkStatus();
    }
    absl::Status operator()(Expr* out) const {
      return options.ReadExpr(node, where, *out);
    }
    absl::Status operator()(Outputs* out) const {
      return options.ReadOutputs(node, where, *out);
    }
    absl::Status operator()(Features* out) const {
      return options.ReadFeatures(node, where, *out);
    }
    absl::Status operator()(std::vector<double>* out) const {
      return options.ReadReals(node, where, *out);
    }
    absl::Status operator()(std::vector<std::string>* out) const {
      return options.ReadStrings(node, where, "a text", *out);
    }
    absl::Status operator()(const FileNames& out) const {
      return options.ReadFileNames(node, where, *out.files);
    }
    absl::Status operator()(const FileCompression& out) const {
      size_t word = 0;
      FM_RETURN_IF_ERROR(options.values_.ReadWord(
          node, where, {"none", "gzip", "zstd", "bz2", "xz"}, word));
      *out.compression = static_cast<Compression>(
          static_cast<size_t>(Compression::kNone) + word);
      return absl::OkStatus();
    }
    absl::Status operator()(const DeclaredFields& out) const {
      return options.ReadDeclaredFields(node, where, *out.fields);
    }
    absl::Status operator()(const InputPipelines& out) const {
      return options.ReadInputs(node, where, *out.inputs);
    }
    absl::Status operator()(const PaddingList&) const {
      return Internal("{}: padding has two keys", where);
    }
  };
  return std::visit(Visitor{*this, field, where, value}, field.value);
}

absl::Status OptionsYaml::ReadExpr(const YAML::Node& node,
                                   const std::string& where, Expr& out) {
  std::string text;
  FM_RETURN_IF_ERROR(values_.ReadString(node, where, "an expression", text));
  absl::StatusOr<Expr> expr = Expr::Parse(text);
  if (!expr.ok()) {
    return YamlValues::Error(node, where, ErrorText(expr.status()));
  }
  out = *std::move(expr);
  terms_ += out.nodes();
  if (terms_ <= kTermsMax) return absl::OkStatus();
  return YamlValues::Error(
      node, where,
      fmt::format("the expressions have more than {} terms in all", kTermsMax));
}

absl::Status OptionsYaml::ReadOutputs(const YAML::Node& node,
                                      const std::string& where,
                                      Outputs& outputs) {
  if (!node.IsMap()) {
    outputs.resize(1);
    return ReadExpr(node, where, outputs[0].second);
  }
  FM_RETURN_IF_ERROR(values_.Count(node));
  for (const auto& entry : node) {
    std::string name;
    FM_RETURN_IF_ERROR(values_.ReadKey(entry.first, where, name));
    for (const auto& output : outputs) {
      if (output.first == name) {
        return YamlValues::Error(entry.first, where,
                                 YamlValues::Quoted(name) + " is there twice");
      }
    }
    Expr expr;
    FM_RETURN_IF_ERROR(ReadExpr(entry.second, where + " " + name, expr));
    outputs.emplace_back(std::move(name), std::move(expr));
  }
  return absl::OkStatus();
}

absl::Status OptionsYaml::ReadFeatures(const YAML::Node& node,
                                       const std::string& where,
                                       Features& features) {
  FM_RETURN_IF_ERROR(values_.Count(node));
  if (!node.IsMap()) {
    return YamlValues::Error(node, where,
                             "expected a map like {image: bytes, label: "
                             "int64}, found " +
                                 YamlValues::Kind(node));
  }
  for (const auto& entry : node) {
    Feature feature;
    FM_RETURN_IF_ERROR(values_.ReadKey(entry.first, where, feature.name));
    for (const Feature& other : features) {
      if (other.name == feature.name) {
        return YamlValues::Error(
            entry.first, where,
            YamlValues::Quoted(feature.name) + " is there twice");
      }
    }
    const std::string place = where + " " + feature.name;
    std::string type;
    FM_RETURN_IF_ERROR(values_.ReadString(
        entry.second, place, "a type like int64 or \"float32[3]\"", type));
    const absl::Status parsed =
        ParseTypeText(type, feature.dtype, feature.shape, feature.default_text);
    if (!parsed.ok()) {
      return YamlValues::Error(entry.second, place, ErrorText(parsed));
    }
    features.push_back(std::move(feature));
  }
  return absl::OkStatus();
}

absl::Status OptionsYaml::ReadIntegers(const YAML::Node& node,
                                       const std::string& where,
                                       std::vector<int64_t>& out) {
  FM_RETURN_IF_ERROR(values_.Count(node));
  if (!node.IsSequence() || node.size() > kListMax) {
    return YamlValues::Error(
        node, where,
        fmt::format("expected a list of at most {} integers, found {}",
                    kListMax, YamlValues::Kind(node)));
  }
  for (const YAML::Node& item : node) {
    FM_RETURN_IF_ERROR(values_.ReadInteger(item, where, out.emplace_back()));
  }
  return absl::OkStatus();
}

absl::Status OptionsYaml::ReadPadding(const YAML::Node& node,
                                      const std::string& where,
                                      const std::string& key,
                                      std::vector<Padding>& padding) {
  FM_RETURN_IF_ERROR(values_.Count(node));
  if (!node.IsMap()) {
    return YamlValues::Error(
        node, where,
        "expected a map from components, found " + YamlValues::Kind(node));
  }
  for (const auto& entry : node) {
    std::string name;
    FM_RETURN_IF_ERROR(values_.ReadKey(entry.first, where, name));
    if (padding.size() >= kListMax) {
      return YamlValues::Error(
          entry.first, where, fmt::format("more than {} components", kListMax));
    }
    const std::string place = where + " " + name;
    Padding& p = PaddingOf(name, padding);
    FM_RETURN_IF_ERROR(key == "shapes"
                           ? ReadShape(entry.second, place, p.shape)
                           : values_.ReadReal(entry.second, place, p.value));
  }
  return absl::OkStatus();
}

// Reads a shape: 128, [128, 3] or ["?", 3].
absl::Status OptionsYaml::ReadShape(const YAML::Node& node,
                                    const std::string& where,
                                    std::optional<Shape>& shape) {
  if (shape) return values_.Error(node, where, "it occurs twice");
  FM_RETURN_IF_ERROR(values_.Count(node));
  std::string dims;
  const auto add = [&](const YAML::Node& dim) -> absl::Status {
    std::string text;
    FM_RETURN_IF_ERROR(values_.ReadString(dim, where, "a dimension", text));
    dims += (dims.empty() ? "" : ",") + text;
    return absl::OkStatus();
  };
  if (node.IsSequence()) {
    for (const YAML::Node& dim : node) FM_RETURN_IF_ERROR(add(dim));
  } else {
    FM_RETURN_IF_ERROR(add(node));
  }
  DType dtype = DType::kBytes;
  const absl::Status parsed = ParseTypeText(
      "bytes[" + dims + "]", dtype, shape.emplace(), Dims::kMayBeUnknown);
  if (parsed.ok()) return parsed;
  return values_.Error(node, where,
                       "expected dimensions like [128, 3], or \"?\" for the "
                       "longest, found " +
                           values_.Kind(node));
}

absl::Status OptionsYaml::ReadInputs(const YAML::Node& node,
                                     const std::string& where,
                                     std::vector<Graph>& inputs) {
  FM_RETURN_IF_ERROR(values_.Count(node));
  if (!node.IsSequence() || node.size() == 0) {
    return values_.Error(node, where,
                         "expected a list of inputs, each with its source "
                         "and steps, found " +
                             values_.Kind(node));
  }
  for (const YAML::Node& item : node) {
    FM_RETURN_IF_ERROR(read_input_(item, inputs.emplace_back()));
  }
  return absl::OkStatus();
}

absl::Status OptionsYaml::ReadReals(const YAML::Node& node,
                                    const std::string& where,
                                    std::vector<double>& out) {
  FM_RETURN_IF_ERROR(values_.Count(node));
  if (!node.IsSequence()) {
    return values_.Error(
        node, where,
        "expected a list like [0.7, 0.3], found " + values_.Kind(node));
  }
  for (const YAML::Node& item : node) {
    FM_RETURN_IF_ERROR(values_.ReadReal(item, where, out.emplace_back()));
  }
  return absl::OkStatus();
}

absl::Status OptionsYaml::ReadDeclaredFields(const YAML::Node& node,
                                             const std::string& where,
                                             std::vector<SourceField>& fields) {
  FM_RETURN_IF_ERROR(values_.Count(node));
  if (!node.IsMap() || node.size() == 0) {
    return values_.Error(node, where,
                         "expected a map like {name: bytes, age: int64}, "
                         "found " +
                             values_.Kind(node));
  }
  for (const auto& entry : node) {
    SourceField field;
    FM_RETURN_IF_ERROR(values_.ReadKey(entry.first, where, field.name));
    const std::string place = where + " " + field.name;
    for (const SourceField& other : fields) {
      if (other.name == field.name) {
        return values_.Error(entry.first, where,
                             values_.Quoted(field.name) + " is there twice");
      }
    }
    std::string type;
    FM_RETURN_IF_ERROR(values_.ReadString(
        entry.second, place, "a type like int64 or \"float32[3]\"", type));
    const absl::Status parsed =
        ParseTypeText(type, field.dtype, field.shape, field.default_text);
    if (!parsed.ok()) {
      return values_.Error(entry.second, place, ErrorText(parsed));
    }
    fields.push_back(std::move(field));
  }
  return absl::OkStatus();
}

absl::Status OptionsYaml::ReadStrings(const YAML::Node& node,
                                      const std::string& where,
                                      const char* what,
                                      std::vector<std::string>& out) {
  FM_RETURN_IF_ERROR(values_.Count(node));
  out.clear();
  if (node.IsScalar()) {
    out = {node.Scalar()};
    return absl::OkStatus();
  }
  if (!node.IsSequence()) {
    return values_.Error(
        node, where,
        fmt::format("expected {} or a list of them, found ", what) +
            values_.Kind(node));
  }
  for (const YAML::Node& item : node) {
    std::string one;
    FM_RETURN_IF_ERROR(values_.ReadString(item, where, what, one));
    out.push_back(std::move(one));
  }
  return absl::OkStatus();
}

absl::Status OptionsYaml::ReadFileNames(const YAML::Node& node,
                                        const std::string& where,
                                        std::vector<std::string>& out) {
  if (node.IsMap()) {
    const YAML::Node list = node["manifest"];
    if (!list || node.size() != 1) {
      return values_.Error(node, where,
                           "expected files, or {manifest: a list of them}");
    }
    FM_RETURN_IF_ERROR(values_.Count(node));
    std::string name;
    FM_RETURN_IF_ERROR(values_.ReadString(list, where, "a file", name));
    out = {"manifest:" + name};  // core/io/file_list.h
    return absl::OkStatus();
  }
  FM_RETURN_IF_ERROR(ReadStrings(node, where, "a file, a glob", out));
  if (out.empty()) {
    return values_.Error(node, where, "the list of files is empty");
  }
  for (const std::string& file : out) {
    if (file.empty()) {
      return values_.Error(node, where, "a file name is empty");
    }
  }
  return absl::OkStatus();
}

}  // namespace feedmill
