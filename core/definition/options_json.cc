// Converts steps and sources of the canonical text to their fields.

#include <algorithm>
#include <utility>

#include "core/base/status.h"
#include "core/definition/json_reader.h"
#include "core/definition/options_text.h"
#include "core/operators/registry.h"

namespace feedmill {
namespace {

using Json = nlohmann::json;

constexpr size_t kFieldRankMax = 32;

absl::Status ReadDims(const Json& json, std::string_view of, Shape& shape) {
  for (const Json& dim : json) {
    if (!dim.is_number_integer()) {
      return InvalidArgument("a {}'s dim is not an integer", of);
    }
    shape.push_back(dim.get<int64_t>());
  }
  return absl::OkStatus();
}

absl::Status ReadOutput(const Json& json, Outputs& outputs) {
  if (!json.is_array() || json.size() != 2) {
    return InvalidArgument("a map's output is not [name, expression]");
  }
  auto& [name, expr] = outputs.emplace_back();
  FM_RETURN_IF_ERROR(JsonReader::Bytes(json[0], name));
  return JsonReader::GetExpr(json[1], expr);
}

// Reads a Feature or a SourceField.
template <class Typed>
absl::Status ReadTyped(const Json& json, std::string_view what,
                       std::vector<Typed>& list) {
  if (!json.is_array() || json.size() < 3 || json.size() > 4 ||
      !json[1].is_string() || !json[2].is_array() ||
      json[2].size() > kFieldRankMax) {
    return InvalidArgument("a {} is not [name, dtype, shape, default]", what);
  }
  Typed& one = list.emplace_back();
  FM_RETURN_IF_ERROR(JsonReader::Bytes(json[0], one.name));
  const auto dtype = DTypeFromName(json[1].get<std::string>());
  if (!dtype.has_value()) {
    return InvalidArgument("there is no dtype \"{}\"",
                           json[1].get<std::string>());
  }
  one.dtype = *dtype;
  if (json.size() == 4) {
    FM_RETURN_IF_ERROR(JsonReader::Bytes(json[3], one.default_text.emplace()));
  }
  return ReadDims(json[2], what, one.shape);
}

absl::Status ReadPadding(const Json& json, std::vector<Padding>& padding) {
  if (!json.is_array() || json.size() != 3 || !json[2].is_number()) {
    return InvalidArgument("a padding is not [component, shape, value]");
  }
  Padding& p = padding.emplace_back();
  FM_RETURN_IF_ERROR(JsonReader::Bytes(json[0], p.component));
  p.value = json[2].get<double>();
  if (json[1].is_null()) return absl::OkStatus();
  if (!json[1].is_array() || json[1].size() > kFieldRankMax) {
    return InvalidArgument("a padding's shape is no list of dims");
  }
  return ReadDims(json[1], "padding", p.shape.emplace());
}

// Reads the field `name` of an object.
struct FieldFromJson {
  JsonReader& reader;
  const char* name;
  const ReadInputJson& read_input;

  template <class T>
  void operator()(T* out) const {
    reader.Get(name, *out);
  }
  void operator()(std::string* out) const { reader.GetBytes(name, *out); }
  void operator()(const ComponentName& out) const {
    reader.GetBytes(name, *out.name);
  }
  void operator()(const FilePath& out) const {
    reader.GetBytes(name, *out.path);
  }
  void operator()(const Word& out) const {
    size_t index = 0;
    reader.GetWord(name, out.words(), index);
    if (reader.status().ok()) out.set(index);
  }
  void operator()(Outputs* out) const {
    reader.ForEach(name,
                   [out](const Json& json) { return ReadOutput(json, *out); });
  }
  void operator()(Features* out) const {
    reader.ForEach(name, [out](const Json& json) {
      return ReadTyped(json, "feature", *out);
    });
  }
  void operator()(std::vector<std::string>* out) const {
    out->clear();
    reader.Get(name, *out);
  }
  void operator()(std::vector<double>* out) const {
    reader.ForEach(name, [out](const Json& json) {
      if (!json.is_number()) return InvalidArgument("it is not a number");
      out->push_back(json.get<double>());
      return absl::OkStatus();
    });
  }
  void operator()(const FileNames& out) const { (*this)(out.files); }
  void operator()(const FileCompression& out) const {
    size_t index = 0;
    reader.GetWord(name, {"none", "gzip", "zstd", "bz2", "xz"}, index);
    *out.compression = static_cast<Compression>(
        static_cast<size_t>(Compression::kNone) + index);
  }
  void operator()(const DeclaredFields& out) const {
    reader.ForEach(name, [&out](const Json& json) {
      return ReadTyped(json, "field", *out.fields);
    });
  }
  void operator()(const InputPipelines& out) const {
    reader.ForEach(name, [&](const Json& json) {
      return read_input(json, out.inputs->emplace_back());
    });
  }
  void operator()(const PaddingList& out) const {
    reader.ForEach(name, [&out](const Json& json) {
      return ReadPadding(json, *out.padding);
    });
  }
};

// Reads the fields of an object. `where` names the step or source in errors.
absl::Status ReadFields(const Json& json, const std::string& where,
                        const ReadInputJson& read_input,
                        const FieldList& fields) {
  JsonReader reader(json, where);
  if (!reader.status().ok()) return reader.status();
  std::vector<std::string> names;
  for (const Field& field : fields) {
    const std::string name(field.name);
    if (field.Has(Field::kSparse) && !json.contains(name)) continue;
    names.push_back(name);
  }
  std::vector<const char*> keys;
  for (const std::string& name : names) keys.push_back(name.c_str());
  reader.Expect(keys);
  for (const Field& field : fields) {
    const std::string name(field.name);
    if (std::find(names.begin(), names.end(), name) == names.end()) continue;
    std::visit(FieldFromJson{reader, name.c_str(), read_input}, field.value);
  }
  return reader.status();
}

}  // namespace

absl::StatusOr<Step> ReadStepJson(const Json& json) {
  if (!json.is_object() || json.size() != 1) {
    return InvalidArgument("a step is not an object with one key");
  }
  const std::string& name = json.begin().key();
  const StepKind* const kind = FindStepKind(name);
  if (kind == nullptr) return InvalidArgument("there is no step \"{}\"", name);
  absl::Status status;
  Step step = kind->New(name);
  step.Change([&](const FieldList& fields) {
    status = ReadFields(json.begin().value(), name, nullptr, fields);
  });
  if (!status.ok()) return status;
  return step;
}

absl::StatusOr<Source> ReadSourceJson(const Json& json,
                                      const ReadInputJson& read_input) {
  if (!json.is_object() || json.size() != 1) {
    return InvalidArgument("source is not an object with one key");
  }
  const std::string& name = json.begin().key();
  const SourceKind* const kind = FindSourceKind(name);
  if (kind == nullptr) {
    return InvalidArgument("there is no source \"{}\"", name);
  }
  absl::Status status;
  Source source = kind->New();
  source.Change([&](const FieldList& fields) {
    status =
        ReadFields(json.begin().value(), "source " + name, read_input, fields);
  });
  if (!status.ok()) return status;
  return source;
}

}  // namespace feedmill
