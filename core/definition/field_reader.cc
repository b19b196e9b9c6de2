// Reads the options of steps and sources by their fields (fields.h).

#include <algorithm>
#include <type_traits>

#include "core/base/status.h"
#include "core/chunk/validity.h"
#include "core/dataset/fields.h"
#include "core/dataset/shape_text.h"
#include "core/dataset/source_types.h"
#include "core/definition/number_file.h"
#include "core/definition/source_by_name.h"
#include "core/definition/value_reader.h"

namespace feedmill {
namespace {

// Bounds of what people write.
constexpr size_t kListMax = 1000;
constexpr size_t kTermsMax = 100'000;
// Dimensions of a shape in the canonical text.
constexpr size_t kRankMax = 32;

// The keys of a field: in the canonical text always its name alone.
ValueReader::Names KeysOf(const Field& field, bool canonical) {
  if (canonical) return {field.name};
  return YamlKeysOf(field);
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

// Reads the options of steps and sources by their fields (fields.h).
class OptionReader {
 public:
  OptionReader(ValueReader& values, const ReadInput& read_input)
      : values_(values), read_input_(read_input) {}

  // `at`: value with the place of the name.
  absl::Status ReadFields(const FieldList& fields, const std::string& where,
                          std::string_view short_form_hint, const Value& at,
                          const Value& value) {
    if (values_.canonical()) return ReadByName(fields, where, at, value);
    if (value.is_nothing() && NeedsValue(fields)) {
      return ValueReader::Error(at, where,
                                "it needs a value; see docs/steps.md");
    }
    if (const Field* const whole = FieldWith(fields, Field::kWhole)) {
      return ReadField(*whole, where, value);
    }
    const Field* const single = FieldWith(fields, Field::kShort);
    if (single != nullptr && !value.is_nothing() && !value.is_map()) {
      return ReadField(*single, where, value);
    }
    if (value.is_scalar() && !short_form_hint.empty()) {
      ValueReader::Names keys;
      for (const Field& field : fields) {
        for (const std::string_view key : YamlKeysOf(field))
          keys.push_back(key);
      }
      return ValueReader::Error(
          value, where,
          fmt::format("expected a map with {}, found {}{}",
                      ValueReader::Joined(keys),
                      ValueReader::Quoted(value.text()), short_form_hint));
    }
    return ReadByName(fields, where, at,
                      value.is_nothing() ? Value(Value::Map()) : value);
  }

 private:
  // Reads a map with a key for each field.
  absl::Status ReadByName(const FieldList& fields, const std::string& where,
                          const Value& at, const Value& value) {
    const bool canonical = values_.canonical();
    ValueReader::Names keys;
    ValueReader::Names missing;
    for (const Field& field : fields) {
      for (const std::string_view key : KeysOf(field, canonical)) {
        keys.push_back(key);
      }
      if (canonical ? !field.Has(Field::kSparse)
                    : field.Has(Field::kRequired)) {
        missing.push_back(field.name);
      }
    }
    FM_RETURN_IF_ERROR(values_.ForEachKey(
        value, where, keys, [&](const std::string& key, const Value& one) {
          std::erase(missing, key);
          const Field& field =
              *std::find_if(fields.begin(), fields.end(), [&](const Field& f) {
                const ValueReader::Names own = KeysOf(f, canonical);
                return std::find(own.begin(), own.end(), key) != own.end();
              });
          const std::string place = where + " " + key;
          if (const auto* padding = std::get_if<PaddingList>(&field.value)) {
            return ReadPadding(one, place, key, *padding->padding);
          }
          return ReadField(field, place, one);
        }));
    if (missing.empty()) return absl::OkStatus();
    return ValueReader::Error(at, where,
                              fmt::format("there is no {}", missing.front()));
  }

  absl::Status ReadField(const Field& field, const std::string& where,
                         const Value& value) {
    return std::visit(Visitor{*this, field, where, value}, field.value);
  }

  absl::Status ReadExpr(const Value& value, const std::string& where,
                        Expr& out) {
    std::string text;
    FM_RETURN_IF_ERROR(values_.ReadString(value, where, "an expression", text));
    absl::StatusOr<Expr> expr = Expr::Parse(text);
    if (!expr.ok()) {
      return ValueReader::Error(value, where, ErrorText(expr.status()));
    }
    out = *std::move(expr);
    values_.size().terms += out.nodes();
    if (values_.size().terms <= kTermsMax || values_.canonical()) {
      return absl::OkStatus();
    }
    return ValueReader::Error(
        value, where,
        fmt::format("the expressions have more than {} terms in all",
                    kTermsMax));
  }

  absl::Status ReadOutputs(const Value& value, const std::string& where,
                           Outputs& outputs) {
    outputs.clear();
    if (!values_.canonical() && !value.is_map()) {
      outputs.resize(1);
      return ReadExpr(value, where, outputs[0].second);
    }
    return values_.ForEachEntry(
        value, where, "a list of names and expressions",
        [&](const Value&, const std::string& name, const Value& one) {
          auto& [component, expr] = outputs.emplace_back();
          component = name;
          const std::string place = where + " " + name;
          if (!values_.canonical()) return ReadExpr(one, place, expr);
          if (one.is_list() && one.list().size() == 2) {
            return ReadExpr(one.list()[1], place, expr);
          }
          return ValueReader::Unexpected(one, place, "[name, expression]");
        });
  }

  // Reads Features, or fields of a source.
  template <class Typed>
  absl::Status ReadTypes(const Value& value, const std::string& where,
                         std::string_view expected, std::vector<Typed>& types) {
    return values_.ForEachEntry(
        value, where, expected,
        [&](const Value&, const std::string& name, const Value& type) {
          if (const absl::Status name_is = CheckNotReserved(name);
              !values_.canonical() && !name_is.ok()) {
            return ValueReader::Error(type, where, ErrorText(name_is));
          }
          Typed& typed = types.emplace_back();
          typed.name = name;
          bool nullable = false;
          FM_RETURN_IF_ERROR(
              ReadType(type, where + " " + name, typed, nullable));
          if (!nullable) return absl::OkStatus();
          if constexpr (std::is_same_v<Typed, SourceField>) {
            types.push_back({ValidityName(name), DType::kBool, {}});
            return absl::OkStatus();
          }
          return ValueReader::Error(type, where + " " + name,
                                    "a feature has a default, not nulls");
        });
  }

  // Reads "float32[3] = 0", or in the canonical text [name, dtype, shape,
  // default].
  template <class Typed>
  absl::Status ReadType(const Value& value, const std::string& where,
                        Typed& out, bool& nullable) {
    std::string type;
    if (!values_.canonical()) {
      FM_RETURN_IF_ERROR(values_.ReadString(
          value, where, "a type like int64 or \"float32[3]\"", type));
      nullable = type.ends_with('?');
      if (nullable) type.pop_back();
      NamedType named{};
      const absl::Status parsed =
          ParseTypeText(type, named, out.shape, out.default_text);
      out.dtype = named.dtype;
      out.logical = named.logical;
      if (parsed.ok() && nullable && !out.shape.empty()) {
        return ValueReader::Error(
            value, where, "an array has no nulls; leave the last ? out");
      }
      if (parsed.ok()) return parsed;
      return ValueReader::Error(value, where, ErrorText(parsed));
    }
    if (!value.is_list() || value.list().size() < 3 ||
        value.list().size() > 4) {
      return ValueReader::Unexpected(value, where,
                                     "[name, dtype, shape, default]");
    }
    const Value::List& parts = value.list();
    FM_RETURN_IF_ERROR(values_.ReadString(parts[1], where, "a dtype", type));
    const std::optional<NamedType> named = TypeFromName(type);
    if (!named) return ValueReader::Unexpected(parts[1], where, "a dtype");
    out.dtype = named->dtype;
    out.logical = named->logical;
    if (parts.size() == 4) {
      FM_RETURN_IF_ERROR(values_.ReadString(parts[3], where, "a default",
                                            out.default_text.emplace()));
    }
    return ReadDims(parts[2], where, out.shape);
  }

  // `key`: "shapes" or "values"; in the canonical text "padding".
  absl::Status ReadPadding(const Value& value, const std::string& where,
                           const std::string& key,
                           std::vector<Padding>& padding) {
    return values_.ForEachEntry(
        value, where, "a map from components",
        [&](const Value& at, const std::string& name, const Value& one) {
          const std::string place = where + " " + name;
          if (values_.canonical()) {
            if (!one.is_list() || one.list().size() != 3) {
              return ValueReader::Unexpected(one, place,
                                             "[component, shape, value]");
            }
            Padding& p = padding.emplace_back();
            p.component = name;
            const Value& shape = one.list()[1];
            if (!shape.is_nothing()) {
              FM_RETURN_IF_ERROR(ReadDims(shape, place, p.shape.emplace()));
            }
            return values_.ReadReal(one.list()[2], place, p.value);
          }
          if (padding.size() >= kListMax) {
            return ValueReader::Error(
                at, where, fmt::format("more than {} components", kListMax));
          }
          Padding& p = PaddingOf(name, padding);
          return key == "shapes" ? ReadShape(one, place, p.shape)
                                 : values_.ReadReal(one, place, p.value);
        });
  }

  // Reads 128, [128, 3] or ["?", 3].
  absl::Status ReadShape(const Value& value, const std::string& where,
                         std::optional<Shape>& shape) {
    std::string dims;
    const auto add = [&](const Value& dim) {
      std::string text;
      const absl::Status status =
          values_.ReadString(dim, where, "a dimension", text);
      dims += (dims.empty() ? "" : ",") + text;
      return status;
    };
    FM_RETURN_IF_ERROR(value.is_list()
                           ? values_.ForEachItem(value, where, "a list", add)
                           : add(value));
    NamedType type{};
    const absl::Status parsed = ParseTypeText(
        "bytes[" + dims + "]", type, shape.emplace(), Dims::kMayBeUnknown);
    if (parsed.ok()) return parsed;
    return ValueReader::Unexpected(
        value, where, "dimensions like [128, 3], or \"?\" for the longest");
  }

  // Reads a shape of the canonical text: a list of integers.
  absl::Status ReadDims(const Value& value, const std::string& where,
                        Shape& shape) {
    return values_.ForEachItem(
        value, where, "a list of dimensions", [&](const Value& dim) {
          if (shape.size() == kRankMax) {
            return ValueReader::Error(
                value, where, fmt::format("more than {} dimensions", kRankMax));
          }
          return values_.ReadInteger(dim, where, shape.emplace_back());
        });
  }

  // Reads a text or a list of texts; otherwise, the error says that `what` is
  // expected.
  absl::Status ReadStrings(const Value& value, const std::string& where,
                           std::string_view what,
                           std::vector<std::string>& out) {
    out.clear();
    if (value.is_scalar() && !values_.canonical()) {
      return values_.ReadString(value, where, what, out.emplace_back());
    }
    return values_.ForEachItem(
        value, where, fmt::format("{} or a list of them", what),
        [&](const Value& item) {
          return values_.ReadString(item, where, what, out.emplace_back());
        });
  }

  absl::Status ReadFileNames(const Value& value, const std::string& where,
                             std::vector<std::string>& out) {
    if (values_.canonical()) return ReadStrings(value, where, "a file", out);
    if (value.is_map()) {
      const Value* const list = value.Find("manifest");
      if (list == nullptr || value.map().size() != 1) {
        return ValueReader::Error(value, where,
                                  "expected files, or {manifest: a list of "
                                  "them}");
      }
      FM_RETURN_IF_ERROR(values_.Count(value));
      std::string name;
      FM_RETURN_IF_ERROR(values_.ReadString(*list, where, "a file", name));
      out = {"manifest:" + name};  // core/io/file_list.h
      return absl::OkStatus();
    }
    FM_RETURN_IF_ERROR(ReadStrings(value, where, "a file, a glob", out));
    if (out.empty()) {
      return ValueReader::Error(value, where, "the list of files is empty");
    }
    if (std::find(out.begin(), out.end(), "") == out.end()) {
      return absl::OkStatus();
    }
    return ValueReader::Error(value, where, "a file name is empty");
  }

  absl::Status ReadInputs(const Value& value, const std::string& where,
                          std::vector<Graph>& inputs) {
    constexpr std::string_view kExpected =
        "a list of inputs, each with its source and steps";
    if (!values_.canonical() && value.is_list() && value.list().empty()) {
      return ValueReader::Unexpected(value, where, kExpected);
    }
    return values_.ForEachItem(value, where, kExpected, [&](const Value& item) {
      return read_input_(item, inputs.emplace_back());
    });
  }

  // Reads a source, or the name of its files.
  absl::Status ReadTable(const Value& value, const std::string& where,
                         std::vector<Graph>& table) {
    table.assign(1, {});
    if (!value.is_scalar()) return read_input_(value, table[0]);
    std::string name;
    FM_RETURN_IF_ERROR(values_.ReadString(value, where, "a file", name));
    absl::StatusOr<Source> source = SourceByName(name);
    if (!source.ok()) {
      return ValueReader::Error(value, where, ErrorText(source.status()));
    }
    table[0].source = *std::move(source);
    return absl::OkStatus();
  }

  // Reads a list of numbers that is written as the name of a file.
  template <class T>
  absl::Status ReadFile(
      const Value& value, const std::string& where,
      absl::StatusOr<std::vector<T>> (*read)(const std::string& file),
      std::vector<T>& out) {
    std::string name;
    FM_RETURN_IF_ERROR(values_.ReadString(value, where, "a file", name));
    auto numbers = read(values_.PathOf(name));
    if (numbers.ok()) {
      out = *std::move(numbers);
      return absl::OkStatus();
    }
    return ValueReader::Error(value, where, ErrorText(numbers.status()));
  }

  // Reads the value of one field.
  struct Visitor {
    OptionReader& reader;
    const Field& field;
    const std::string& where;
    const Value& value;

    ValueReader& values() const { return reader.values_; }
    bool canonical() const { return values().canonical(); }

    absl::Status operator()(bool* out) const {
      return values().ReadBool(value, where, *out);
    }
    absl::Status operator()(int64_t* out) const {
      FM_RETURN_IF_ERROR(values().ReadInteger(value, where, *out));
      if (*out != 0 || !field.Has(Field::kPositive) || canonical()) {
        return absl::OkStatus();
      }
      return ValueReader::Error(value, where, "expected 1 or more, found 0");
    }
    absl::Status operator()(double* out) const {
      return values().ReadReal(value, where, *out);
    }
    absl::Status operator()(std::string* out) const {
      return values().ReadString(value, where, "a text", *out);
    }
    absl::Status operator()(std::optional<int64_t>* out) const {
      if (canonical() && value.is_nothing()) return absl::OkStatus();
      return values().ReadInteger(value, where, out->emplace());
    }
    absl::Status operator()(std::optional<uint64_t>* out) const {
      return values().ReadSeed(value, where, *out);
    }
    absl::Status operator()(std::vector<int64_t>* out) const {
      const bool any_length = canonical() || field.Has(Field::kLong);
      const std::string expected =
          field.Has(Field::kLong)
              ? "a list of integers"
              : fmt::format("a list of at most {} integers", kListMax);
      if (!any_length && value.is_list() && value.list().size() > kListMax) {
        return ValueReader::Unexpected(value, where, expected);
      }
      if (values().IsFile(value)) {
        return reader.ReadFile(value, where, ReadIntegers, *out);
      }
      out->clear();
      return values().ForEachItem(
          value, where, expected, [&](const Value& item) {
            return values().ReadInteger(item, where, out->emplace_back());
          });
    }
    absl::Status operator()(std::vector<double>* out) const {
      if (values().IsFile(value)) {
        return reader.ReadFile(value, where, ReadNumbers, *out);
      }
      out->clear();
      return ReadReals(value, field.Has(Field::kRows), *out);
    }
    absl::Status ReadReals(const Value& list, bool rows,
                           std::vector<double>& out) const {
      return values().ForEachItem(
          list, where, "a list like [0.7, 0.3]", [&](const Value& item) {
            return rows && item.is_list()
                       ? ReadReals(item, /*rows=*/false, out)
                       : values().ReadReal(item, where, out.emplace_back());
          });
    }
    absl::Status operator()(std::vector<std::string>* out) const {
      return reader.ReadStrings(value, where, "a text", *out);
    }
    absl::Status operator()(const ComponentName& out) const {
      return values().ReadString(value, where, "a component", *out.name);
    }
    absl::Status operator()(const FilePath& out) const {
      return values().ReadString(value, where,
                                 out.folder ? "a folder" : "a file", *out.path);
    }
    absl::Status operator()(const Word& out) const {
      size_t index = 0;
      FM_RETURN_IF_ERROR(values().ReadWord(value, where, out.words(), index));
      out.set(index);
      return absl::OkStatus();
    }
    absl::Status operator()(Expr* out) const {
      return reader.ReadExpr(value, where, *out);
    }
    absl::Status operator()(Outputs* out) const {
      return reader.ReadOutputs(value, where, *out);
    }
    absl::Status operator()(Features* out) const {
      return reader.ReadTypes(value, where,
                              "a map like {image: bytes, label: int64}", *out);
    }
    absl::Status operator()(const FileNames& out) const {
      return reader.ReadFileNames(value, where, *out.files);
    }
    absl::Status operator()(const FileCompression& out) const {
      size_t word = 0;
      FM_RETURN_IF_ERROR(values().ReadWord(
          value, where, {"none", "gzip", "zstd", "bz2", "xz"}, word));
      *out.compression = static_cast<Compression>(
          static_cast<size_t>(Compression::kNone) + word);
      return absl::OkStatus();
    }
    absl::Status operator()(const DeclaredFields& out) const {
      constexpr std::string_view kExpected =
          "a map like {name: bytes, age: int64}";
      if (!canonical() && value.is_map() && value.map().empty()) {
        return ValueReader::Unexpected(value, where, kExpected);
      }
      return reader.ReadTypes(value, where, kExpected, *out.fields);
    }
    absl::Status operator()(const InputPipelines& out) const {
      return out.table && !canonical()
                 ? reader.ReadTable(value, where, *out.inputs)
                 : reader.ReadInputs(value, where, *out.inputs);
    }
    absl::Status operator()(const PaddingList&) const {
      return Internal("{}: padding has keys of its own", where);
    }
  };

  ValueReader& values_;
  const ReadInput& read_input_;
};

}  // namespace

absl::StatusOr<Step> ReadStepOptions(ValueReader& values,
                                     const ReadInput& read_input,
                                     const StepKind& kind,
                                     const std::string& name,
                                     const std::string& where, const Value& at,
                                     const Value& value) {
  absl::Status status;
  Step step = kind.New(name);
  step.Change([&](const FieldList& fields) {
    status = OptionReader(values, read_input)
                 .ReadFields(fields, where, kind.short_form_hint(), at, value);
  });
  if (!status.ok()) return status;
  return step;
}

absl::StatusOr<Source> ReadSourceOptions(ValueReader& values,
                                         const ReadInput& read_input,
                                         const SourceKind& kind,
                                         const Value& at, const Value& value) {
  absl::Status status;
  Source source = kind.New();
  source.Change([&](const FieldList& fields) {
    status = OptionReader(values, read_input)
                 .ReadFields(fields, std::string(kind.name()), "", at, value);
  });
  if (!status.ok()) return status;
  return source;
}

}  // namespace feedmill
