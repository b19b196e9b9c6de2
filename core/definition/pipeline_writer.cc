// YamlText and ShownParts: a pipeline as people write it.

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include "core/base/status.h"
#include "core/base/url_secrets.h"
#include "core/base/utf8.h"
#include "core/chunk/validity.h"
#include "core/dataset/expr_operators.h"
#include "core/dataset/graph_text.h"
#include "core/dataset/source_types.h"
#include "core/definition/pipeline_text.h"
#include "core/operators/registry.h"

namespace feedmill {
namespace {

// Bytes of a text and items of a list that people are shown.
constexpr size_t kShownBytes = 120;
constexpr size_t kShownItems = 20;

// True if YAML reads the text as a text without quotes.
bool IsWord(std::string_view text) {
  constexpr std::array<std::string_view, 11> kReserved = {
      "null", "true", "false", "yes", "no", "on",
      "off",  "y",    "n",     "nan", "inf"};
  std::string lower;
  for (const char c : text) {
    const bool letter =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    const bool later =
        (c >= '0' && c <= '9') || c == '.' || c == '/' || c == '-';
    if (!letter && (!later || lower.empty())) return false;
    lower += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return !lower.empty() && std::find(kReserved.begin(), kReserved.end(),
                                     lower) == kReserved.end();
}

std::string InQuotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      out += c == '\n' ? "\\n" : fmt::format("\\x{:02x}", byte);
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out + '"';
}

// Writes values as YAML on one line.
class PipelineWriter {
 public:
  explicit PipelineWriter(bool shown) : shown_(shown) {}

  // False if a text was no text of YAML, which is Unicode.
  bool ok() const { return ok_; }

  // Options of a step or source; "" if the name alone says all.
  template <class Kind>
  std::string Options(const Configured<Kind>& one,
                      const Configured<Kind>& defaults);
  std::string Source(const feedmill::Source& source) {
    return Named(source.name(), Options(source, source.kind().New()));
  }
  std::string Steps(const std::vector<Step>& steps, std::string_view separator,
                    bool flow);
  std::string Text(std::string_view text);

  std::string Value(const bool* v) { return *v ? "true" : "false"; }
  std::string Value(const int64_t* v) { return fmt::format("{}", *v); }
  std::string Value(const double* v) { return fmt::format("{}", *v); }
  std::string Value(const std::string* v) { return Text(*v); }
  template <class T>
  std::string Value(const std::optional<T>* v) {
    return *v ? fmt::format("{}", **v) : "null";
  }
  template <class T>
  std::string Value(const std::vector<T>* v) {
    return List(*v, [&](const T& item) {
      if constexpr (std::is_same_v<T, std::string>) return Text(item);
      if constexpr (!std::is_same_v<T, std::string>) {
        return fmt::format("{}", item);
      }
    });
  }
  std::string Value(const ComponentName& v) { return Text(*v.name); }
  std::string Value(const FilePath& v) { return Text(*v.path); }
  std::string Value(const Word& v) { return Text(v.word()); }
  std::string Value(const Expr* v) { return Text(ExprText(*v)); }
  std::string Value(const Outputs* v) {
    if (v->size() == 1 && v->front().first.empty()) {
      return Value(&v->front().second);
    }
    return Map(*v, [&](const auto& output) {
      return std::pair(output.first, Value(&output.second));
    });
  }
  std::string Value(const Features* v) { return Types(*v); }
  std::string Value(const DeclaredFields& v) { return Types(*v.fields); }
  std::string Value(const FileNames& v) {
    return v.files->size() == 1 ? Text(v.files->front()) : Value(v.files);
  }
  std::string Value(const FileCompression& v) {
    return Text(CompressionName(*v.compression));
  }
  std::string Value(const InputPipelines& v) {
    const auto write = [&](const Graph& input) {
      std::string text = "{source: " + Source(input.source);
      if (!input.steps.empty()) {
        text += ", steps: [" + Steps(input.steps, ", ", true) + "]";
      }
      return text + "}";
    };
    if (v.table) return v.inputs->empty() ? "" : write(v.inputs->front());
    return List(*v.inputs, write);
  }
  std::string Value(const PaddingList& v) { return Padded(v, "values"); }
  // `key`: "shapes" or "values".
  std::string Padded(const PaddingList& v, std::string_view key);

 private:
  static std::string Named(std::string_view name, const std::string& options) {
    return fmt::format("{{{}: {}}}", name, options.empty() ? "{}" : options);
  }
  template <class Items, class Write>
  std::string List(const Items& items, Write&& write);
  // `entry` returns the key and the text of the value.
  template <class Items, class Entry>
  std::string Map(const Items& items, Entry&& entry) {
    std::string text;
    for (const auto& item : items) {
      const auto [key, value] = entry(item);
      text +=
          fmt::format("{}{}: {}", text.empty() ? "" : ", ", Text(key), value);
    }
    return "{" + text + "}";
  }
  template <class Types_>
  std::string Types(const Types_& types) {
    const std::span all(types);
    std::vector<size_t> places;
    for (size_t k = 0; k < all.size(); ++k) {
      if (!IsValidity(all, k)) places.push_back(k);
    }
    return Map(places, [&](const size_t k) {
      const auto& one = all[k];
      std::string text(TypeName(one.dtype, one.logical));
      if (!one.shape.empty()) {
        text += fmt::format("[{}]", fmt::join(Dims(one.shape), ", "));
      }
      if (MayBeNull(all, k)) text += '?';
      if (one.default_text) text += " = " + *one.default_text;
      return std::pair(one.name, Text(text));
    });
  }
  static std::vector<std::string> Dims(const Shape& shape) {
    std::vector<std::string> dims;
    for (const int64_t dim : shape) {
      dims.push_back(dim == kUnknownDim ? "?" : fmt::format("{}", dim));
    }
    return dims;
  }

  const bool shown_;
  bool ok_ = true;
};

std::string PipelineWriter::Text(std::string_view text) {
  std::string shown;
  if (shown_) {
    shown = ShownName(text);
    if (shown.size() > kShownBytes) {
      size_t end = kShownBytes;
      while ((static_cast<unsigned char>(shown[end]) & 0xc0) == 0x80) --end;
      shown = shown.substr(0, end) + "…";
    }
    text = shown;
  }
  ok_ = ok_ && IsUtf8(text);
  return IsWord(text) ? std::string(text) : InQuotes(text);
}

template <class Items, class Write>
std::string PipelineWriter::List(const Items& items, Write&& write) {
  std::string text;
  size_t count = 0;
  for (const auto& item : items) {
    if (!text.empty()) text += ", ";
    if (shown_ && count++ == kShownItems) {
      text += "…";
      break;
    }
    text += write(item);
  }
  return "[" + text + "]";
}

std::string PipelineWriter::Padded(const PaddingList& v, std::string_view key) {
  std::vector<Padding> given;
  for (const Padding& p : *v.padding) {
    if (key == "shapes" ? p.shape.has_value() : p.value != 0 || !p.shape) {
      given.push_back(p);
    }
  }
  return Map(given, [&](const Padding& p) {
    if (key == "values") return std::pair(p.component, Value(&p.value));
    const std::vector<std::string> dims = Dims(*p.shape);
    return std::pair(p.component, List(dims, [&](const std::string& dim) {
                       return dim == "?" ? "\"?\"" : dim;
                     }));
  });
}

template <class Kind>
std::string PipelineWriter::Options(const Configured<Kind>& one,
                                    const Configured<Kind>& defaults) {
  struct Written {
    std::string_view key;
    std::string text;
    const Field& field;
  };
  const auto text_of = [&](const Field& field, std::string_view key) {
    const auto* const padding = std::get_if<PaddingList>(&field.value);
    if (padding != nullptr) return Padded(*padding, key);
    return std::visit([&](const auto& value) { return Value(value); },
                      field.value);
  };
  std::string out;
  one.ReadFields([&](const FieldList& fields) {
    defaults.ReadFields([&](const FieldList& unset) {
      std::vector<Written> written;
      bool needed = false;  // the name alone would be an error
      for (size_t f = 0; f < fields.size(); ++f) {
        const Field& field = fields[f];
        needed = needed || std::holds_alternative<Features*>(field.value);
        for (const std::string_view key : YamlKeysOf(field)) {
          std::string text = text_of(field, key);
          if (field.Has(Field::kRequired) || field.Has(Field::kWhole) ||
              text != text_of(unset[f], key)) {
            written.push_back({key, std::move(text), field});
          }
        }
      }
      const auto alone = [](const Field& field) {
        return field.Has(Field::kWhole) ||
               (field.Has(Field::kShort) &&
                !std::holds_alternative<FileNames>(field.value) &&
                !std::holds_alternative<InputPipelines>(field.value));
      };
      if (written.size() == 1 && alone(written[0].field)) {
        out = written[0].text;
      } else if (!written.empty() || needed) {
        out = Map(written,
                  [](const Written& w) { return std::pair(w.key, w.text); });
      }
    });
  });
  return out;
}

std::string PipelineWriter::Steps(const std::vector<Step>& steps,
                                  std::string_view separator, bool flow) {
  std::string text;
  for (const Step& step : steps) {
    const std::string options = Options(step, step.kind().New(step.name()));
    if (!text.empty()) text += separator;
    if (options.empty()) {
      text += step.name();
    } else if (flow) {
      text += Named(step.name(), options);
    } else {
      text += fmt::format("{}: {}", step.name(), options);
    }
  }
  return text;
}

struct TypeOfField {
  std::string operator()(const bool*) const { return "true or false"; }
  std::string operator()(const double*) const { return "number"; }
  std::string operator()(const std::vector<int64_t>*) const {
    return "integers";
  }
  std::string operator()(const std::vector<double>*) const { return "numbers"; }
  std::string operator()(const std::vector<std::string>*) const {
    return "texts";
  }
  std::string operator()(const std::string*) const { return "text"; }
  std::string operator()(const ComponentName&) const { return "component"; }
  std::string operator()(const FilePath&) const { return "path"; }
  std::string operator()(const Word& word) const {
    return fmt::format("{}", fmt::join(word.words(), " or "));
  }
  std::string operator()(const Expr*) const { return "expression"; }
  std::string operator()(const Outputs*) const { return "expressions"; }
  std::string operator()(const Features*) const { return "types by name"; }
  std::string operator()(const PaddingList&) const { return "by component"; }
  std::string operator()(const FileNames&) const { return "files"; }
  std::string operator()(const FileCompression&) const { return "word"; }
  std::string operator()(const DeclaredFields&) const {
    return "types by name";
  }
  std::string operator()(const InputPipelines& inputs) const {
    return inputs.table ? "table" : "pipelines";
  }
  template <class Integer>
  std::string operator()(const Integer*) const {
    static_assert(std::is_same_v<Integer, int64_t> ||
                  std::is_same_v<Integer, std::optional<int64_t>> ||
                  std::is_same_v<Integer, std::optional<uint64_t>>);
    return "integer";
  }
};

// Returns the options of a pipeline that are set, in the order of the pages.
std::vector<std::pair<std::string, std::string>> OptionsOf(
    const Pipeline& pipeline, PipelineWriter& writer) {
  std::vector<std::pair<std::string, std::string>> out;
  const Options& options = pipeline.graph.options;
  if (options.seed) out.emplace_back("seed", fmt::format("{}", *options.seed));
  if (options.order == Order::kAny) out.emplace_back("order", "any");
  if (options.processing_mode == Options::ProcessingMode::kOff) {
    out.emplace_back("processing_mode", "\"off\"");
  }
  if (!pipeline.job.empty()) out.emplace_back("job", writer.Text(pipeline.job));
  if (pipeline.even) {
    constexpr std::array<const char*, 3> kWords = {"exact", "drop", "pad"};
    out.emplace_back("even", kWords.at(static_cast<size_t>(*pipeline.even)));
  }
  return out;
}

}  // namespace

std::string TypeOf(const Field& field) {
  return std::visit(TypeOfField{}, field.value);
}

std::string YamlText(const Pipeline& pipeline) {
  const Graph& graph = pipeline.graph;
  PipelineWriter writer(/*shown=*/false);
  std::string text = "source: " + writer.Source(graph.source) + "\n";
  if (!graph.steps.empty()) {
    text += "steps:\n  - " + writer.Steps(graph.steps, "\n  - ", false) + "\n";
  }
  if (!writer.ok() || !graph.plugins.empty()) {
    text = "source: {graph: " + InQuotes(CanonicalText(graph)) + "}\n";
  }
  std::string options;
  for (const auto& [name, value] : OptionsOf(pipeline, writer)) {
    options +=
        fmt::format("{}{}: {}", options.empty() ? "" : ", ", name, value);
  }
  return options.empty() ? text : text + "options: {" + options + "}\n";
}

std::vector<PipelinePart> ShownParts(const Pipeline& pipeline) {
  const Graph& graph = pipeline.graph;
  PipelineWriter writer(/*shown=*/true);
  std::vector<PipelinePart> parts;
  const Source& source = graph.source;
  parts.push_back({"source", std::string(source.name()),
                   writer.Options(source, source.kind().New())});
  for (size_t s = 0; s < graph.steps.size(); ++s) {
    const Step& step = graph.steps[s];
    parts.push_back({fmt::format("steps[{}]", s), std::string(step.name()),
                     writer.Options(step, step.kind().New(step.name()))});
  }
  for (auto& [name, value] : OptionsOf(pipeline, writer)) {
    parts.push_back({"options", name, std::move(value)});
  }
  return parts;
}

}  // namespace feedmill
