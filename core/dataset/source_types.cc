#include "core/dataset/source_types.h"

#include <algorithm>
#include <variant>

#include "core/base/status.h"

namespace feedmill {
namespace {

constexpr size_t kComponentsMax = 1000;
constexpr int64_t kFieldItemsMax = int64_t{1} << 31;
constexpr int64_t kRecordBytesMax = int64_t{1} << 30;

bool EndsIn(const std::string& name, std::string_view end) {
  return name.size() > end.size() &&
         std::string_view(name).substr(name.size() - end.size()) == end;
}

Compression ByName(const std::string& file) {
  if (EndsIn(file, ".gz") || EndsIn(file, ".tgz")) return Compression::kGzip;
  if (EndsIn(file, ".zst")) return Compression::kZstd;
  return Compression::kNone;
}

template <class S>
Compression CompressionOf(const S& source) {
  if constexpr (requires { source.compression; }) {
    if (source.compression != Compression::kByName) return source.compression;
    return source.files.empty() ? Compression::kNone
                                : ByName(source.files.front());
  }
  return Compression::kNone;
}

template <class S>
absl::Status CheckFiles(const S& source) {
  if (source.files.empty()) {
    return InvalidArgument("the list of files is empty");
  }
  for (const std::string& file : source.files) {
    if (file.empty()) return InvalidArgument("a file name is empty");
  }
  if constexpr (requires { source.compression; }) {
    if (source.compression != Compression::kByName) return absl::OkStatus();
    for (const std::string& file : source.files) {
      if (ByName(file) == ByName(source.files.front())) continue;
      return InvalidArgument(
          "\"{}\" and \"{}\" are compressed in different ways; read them as "
          "two sources, or write `compression: none`, `gzip` or `zstd`",
          source.files.front(), file);
    }
  }
  return absl::OkStatus();
}

// Which shapes the fields of a source may have.
enum class FieldShapes { kScalars, kStatic, kLists };

absl::Status CheckField(const SourceField& field, FieldShapes shapes) {
  int64_t items = 1;
  bool fits = shapes != FieldShapes::kScalars || field.shape.empty();
  for (const int64_t dim : field.shape) {
    if (dim == kUnknownDim) {
      fits = fits && shapes == FieldShapes::kLists && field.shape.size() == 1;
    } else if (dim < 0 || __builtin_mul_overflow(items, dim, &items) ||
               items > kFieldItemsMax) {
      return InvalidArgument("the shape {} of \"{}\" is too large",
                             ShapeToString(field.shape), field.name);
    }
  }
  if (fits) return absl::OkStatus();
  return InvalidArgument(
      "the shape {} of \"{}\" is impossible: {}", ShapeToString(field.shape),
      field.name,
      shapes == FieldShapes::kScalars ? "the format has scalar values only"
      : shapes == FieldShapes::kStatic
          ? "all dimensions must be known"
          : "only the dimension of a single list may be unknown");
}

absl::StatusOr<ElementSpec> FieldsSpec(const std::vector<SourceField>& fields,
                                       FieldShapes shapes) {
  if (fields.empty()) {
    return InvalidArgument(
        "its fields are not known; declare them, as in "
        "fields: {{name: bytes, age: int64}}");
  }
  ElementSpec spec;
  for (const SourceField& field : fields) {
    FM_RETURN_IF_ERROR(CheckField(field, shapes));
    spec.components.push_back({field.name, field.dtype, field.shape});
  }
  FM_RETURN_IF_ERROR(CheckComponentNames(spec));
  return spec;
}

ElementSpec OneUnnamed(DType dtype) { return ElementSpec{{{"", dtype, {}}}}; }

constexpr size_t kInputsMax = 1000;

// One spec for the elements of all inputs: the same components; a dimension in
// which they differ is not known.
absl::StatusOr<ElementSpec> SameOf(std::span<const ElementSpec> inputs) {
  ElementSpec out = inputs[0];
  for (size_t i = 1; i < inputs.size(); ++i) {
    const auto& others = inputs[i].components;
    bool same = others.size() == out.components.size();
    for (size_t c = 0; same && c < others.size(); ++c) {
      ComponentSpec& one = out.components[c];
      same = one.name == others[c].name && one.dtype == others[c].dtype &&
             one.shape.size() == others[c].shape.size();
      for (size_t d = 0; same && d < one.shape.size(); ++d) {
        if (one.shape[d] != others[c].shape[d]) one.shape[d] = kUnknownDim;
      }
    }
    if (same) continue;
    return InvalidArgument(
        "the inputs make different elements: inputs[0] {}, inputs[{}] {}. Let "
        "a map in the steps of one give it the components of the other: the "
        "same names in the same order, dtypes and numbers of dimensions",
        inputs[0].ToString(), i, inputs[i].ToString());
  }
  return out;
}

absl::StatusOr<ElementSpec> AllOf(std::span<const ElementSpec> inputs) {
  ElementSpec out;
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (const ComponentSpec& component : inputs[i].components) {
      if (component.name.empty() && inputs.size() > 1) {
        return InvalidArgument(
            "the component of inputs[{}] has no name. Give it one in that "
            "input's steps, as in map: {{left: x}}",
            i);
      }
      if (out.Find(component.name) >= 0) {
        return InvalidArgument(
            "inputs[{}] makes a component \"{}\", as one before it does. "
            "Rename it in that input's steps, as in map: {{other: {}}}",
            i, component.name, component.name);
      }
      out.components.push_back(component);
    }
  }
  FM_RETURN_IF_ERROR(CheckComponentNames(out));
  return out;
}

struct OutputOf {
  using Result = absl::StatusOr<ElementSpec>;

  std::span<const ElementSpec> inputs;

  Result operator()(const ConcatenateSource& s) const {
    FM_RETURN_IF_ERROR(CheckInputs(s.inputs));
    for (size_t i = 0; i + 1 < s.inputs.size(); ++i) {
      if (!IsEndless(s.inputs[i])) continue;
      return InvalidArgument(
          "inputs[{}] is endless, so the inputs after it would never be read. "
          "Add a take to it, or put it last",
          i);
    }
    return SameOf(inputs);
  }
  Result operator()(const ZipSource& s) const {
    FM_RETURN_IF_ERROR(CheckInputs(s.inputs));
    return AllOf(inputs);
  }
  Result operator()(const InterleaveSource& s) const {
    FM_RETURN_IF_ERROR(CheckInputs(s.inputs));
    if (s.cycle_length < 0 || s.block_length < 1) {
      return InvalidArgument(
          "cycle_length and block_length must be at least 1, they are {} and "
          "{}",
          s.cycle_length, s.block_length);
    }
    return SameOf(inputs);
  }
  Result operator()(const MixtureSource& s) const {
    FM_RETURN_IF_ERROR(CheckInputs(s.inputs));
    FM_RETURN_IF_ERROR(MixtureShares(s).status());
    return SameOf(inputs);
  }

  Result operator()(const RangeSource& s) const {
    if (s.step == 0) return InvalidArgument("range's step must not be 0");
    return OneUnnamed(DType::kInt64);
  }
  Result operator()(const TfRecordSource& s) const {
    FM_RETURN_IF_ERROR(CheckFiles(s));
    return OneUnnamed(DType::kBytes);
  }
  Result operator()(const TextSource& s) const {
    FM_RETURN_IF_ERROR(CheckFiles(s));
    return OneUnnamed(DType::kBytes);
  }
  Result operator()(const ImagesSource& s) const {
    FM_RETURN_IF_ERROR(CheckFiles(s));
    return ElementSpec{{{"image", DType::kBytes, {}},
                        {"label", DType::kInt64, {}},
                        {"path", DType::kBytes, {}}}};
  }
  Result operator()(const FixedLengthSource& s) const {
    FM_RETURN_IF_ERROR(CheckFiles(s));
    if (s.record_bytes < 1 || s.record_bytes > kRecordBytesMax) {
      return InvalidArgument("record_bytes must be 1 to {}, it is {}",
                             kRecordBytesMax, s.record_bytes);
    }
    for (const int64_t bytes : {s.header_bytes, s.footer_bytes}) {
      if (bytes < 0 || bytes > kRecordBytesMax) {
        return InvalidArgument(
            "header_bytes and footer_bytes must be 0 to {}, one is {}",
            kRecordBytesMax, bytes);
      }
    }
    return OneUnnamed(DType::kBytes);
  }
  Result operator()(const NpySource& s) const {
    FM_RETURN_IF_ERROR(CheckFiles(s));
    for (const SourceField& field : s.fields) {
      if (field.dtype != DType::kBytes) continue;
      return InvalidArgument("\"{}\" cannot be bytes: arrays hold numbers",
                             field.name);
    }
    return FieldsSpec(s.fields, FieldShapes::kStatic);
  }
  Result operator()(const JsonlSource& s) const {
    FM_RETURN_IF_ERROR(CheckFiles(s));
    FM_RETURN_IF_ERROR(CheckNamed(s.fields));
    return FieldsSpec(s.fields, FieldShapes::kLists);
  }
  Result operator()(const CsvSource& s) const {
    FM_RETURN_IF_ERROR(CheckFiles(s));
    if (s.delimiter.size() != 1 || s.delimiter == "\"" || s.delimiter == "\n" ||
        s.delimiter == "\r") {
      return InvalidArgument(
          "the delimiter must be one byte, and neither a quote nor a line "
          "break");
    }
    FM_RETURN_IF_ERROR(CheckNamed(s.fields));
    return FieldsSpec(s.fields, FieldShapes::kScalars);
  }
  Result operator()(const WebDatasetSource& s) const {
    FM_RETURN_IF_ERROR(CheckFiles(s));
    FM_RETURN_IF_ERROR(CheckNamed(s.fields));
    return FieldsSpec(s.fields, FieldShapes::kScalars);
  }

  absl::Status CheckInputs(const std::vector<Graph>& graphs) const {
    if (graphs.empty()) return InvalidArgument("the list of inputs is empty");
    if (graphs.size() > kInputsMax) {
      return InvalidArgument("more than {} inputs", kInputsMax);
    }
    if (graphs.size() == inputs.size()) return absl::OkStatus();
    return Internal("{} specs for {} inputs", inputs.size(), graphs.size());
  }

  static absl::Status CheckNamed(const std::vector<SourceField>& fields) {
    for (const SourceField& field : fields) {
      if (field.name.empty()) {
        return InvalidArgument("each field needs a name");
      }
    }
    return absl::OkStatus();
  }
};

}  // namespace

std::string_view SourceName(const Source& source) {
  struct Visitor {
    std::string_view operator()(const RangeSource&) const { return "range"; }
    std::string_view operator()(const TfRecordSource&) const {
      return "tfrecord";
    }
    std::string_view operator()(const TextSource&) const { return "text"; }
    std::string_view operator()(const ImagesSource&) const { return "images"; }
    std::string_view operator()(const FixedLengthSource&) const {
      return "fixed_length";
    }
    std::string_view operator()(const NpySource&) const { return "npy"; }
    std::string_view operator()(const JsonlSource&) const { return "jsonl"; }
    std::string_view operator()(const CsvSource&) const { return "csv"; }
    std::string_view operator()(const WebDatasetSource&) const {
      return "webdataset";
    }
    std::string_view operator()(const ConcatenateSource&) const {
      return "concatenate";
    }
    std::string_view operator()(const ZipSource&) const { return "zip"; }
    std::string_view operator()(const InterleaveSource&) const {
      return "interleave";
    }
    std::string_view operator()(const MixtureSource&) const {
      return "mixture";
    }
  };
  return std::visit(Visitor{}, source);
}

const std::vector<std::string>* SourceFiles(const Source& source) {
  return std::visit(
      [](const auto& s) -> const std::vector<std::string>* {
        if constexpr (requires { s.files; }) return &s.files;
        return nullptr;
      },
      source);
}

std::vector<std::string>* SourceFiles(Source& source) {
  return std::visit(
      [](auto& s) -> std::vector<std::string>* {
        if constexpr (requires { s.files; }) return &s.files;
        return nullptr;
      },
      source);
}

const std::vector<Graph>* SourceInputs(const Source& source) {
  return std::visit(
      [](const auto& s) -> const std::vector<Graph>* {
        if constexpr (requires { s.inputs; }) return &s.inputs;
        return nullptr;
      },
      source);
}

std::vector<Graph>* SourceInputs(Source& source) {
  return std::visit(
      [](auto& s) -> std::vector<Graph>* {
        if constexpr (requires { s.inputs; }) return &s.inputs;
        return nullptr;
      },
      source);
}

bool IsEndless(const Graph& graph) {
  bool endless = IsEndless(graph.source);
  for (const Step& step : graph.steps) {
    if (const auto* repeat = step.As<RepeatStep>()) {
      endless = endless || !repeat->count.has_value();
    } else if (step.Is<TakeStep>()) {
      endless = false;
    }
  }
  return endless;
}

bool IsEndless(const Source& source) {
  const std::vector<Graph>* const inputs = SourceInputs(source);
  if (inputs == nullptr) return false;
  const auto endless = [](const Graph& graph) { return IsEndless(graph); };
  const bool any = std::any_of(inputs->begin(), inputs->end(), endless);
  const bool all = std::all_of(inputs->begin(), inputs->end(), endless);
  if (std::holds_alternative<ZipSource>(source)) return all;
  const auto* mixture = std::get_if<MixtureSource>(&source);
  if (mixture == nullptr) return any;
  return mixture->stop == MixtureSource::Stop::kRepeat ||
         (mixture->stop == MixtureSource::Stop::kAllExhausted ? any : all);
}

int64_t CycleLength(const InterleaveSource& source) {
  const auto inputs = static_cast<int64_t>(source.inputs.size());
  return source.cycle_length == 0 ? std::max<int64_t>(1, inputs)
                                  : source.cycle_length;
}

const std::vector<SourceField>* SourceFields(const Source& source) {
  return std::visit(
      [](const auto& s) -> const std::vector<SourceField>* {
        if constexpr (requires { s.fields; }) return &s.fields;
        return nullptr;
      },
      source);
}

std::vector<SourceField>* SourceFields(Source& source) {
  return std::visit(
      [](auto& s) -> std::vector<SourceField>* {
        if constexpr (requires { s.fields; }) return &s.fields;
        return nullptr;
      },
      source);
}

Compression SourceCompression(const Source& source) {
  return std::visit([](const auto& s) { return CompressionOf(s); }, source);
}

std::string_view CompressionName(Compression compression) {
  switch (compression) {
    case Compression::kByName:
      return "by name";
    case Compression::kNone:
      return "none";
    case Compression::kGzip:
      return "gzip";
    case Compression::kZstd:
      return "zstd";
  }
  return "";
}

Positions SourcePositions(const Source& source) {
  if (SourceCompression(source) != Compression::kNone) return Positions::kFiles;
  if (std::holds_alternative<WebDatasetSource>(source)) {
    return Positions::kFiles;
  }
  if (const auto* csv = std::get_if<CsvSource>(&source)) {
    return csv->multiline ? Positions::kFiles : Positions::kBlocks;
  }
  const bool lines = std::holds_alternative<TextSource>(source) ||
                     std::holds_alternative<JsonlSource>(source);
  return lines ? Positions::kBlocks : Positions::kRecords;
}

absl::StatusOr<ElementSpec> SourceOutput(const Source& source,
                                         std::span<const ElementSpec> inputs) {
  return std::visit(OutputOf{inputs}, source);
}

absl::Status CheckComponentNames(const ElementSpec& spec) {
  if (spec.components.empty()) {
    return InvalidArgument("it makes no component; name at least one");
  }
  if (spec.components.size() > kComponentsMax) {
    return InvalidArgument("more than {} components", kComponentsMax);
  }
  for (size_t i = 0; i < spec.components.size(); ++i) {
    const std::string& name = spec.components[i].name;
    if (name.empty() && spec.components.size() > 1) {
      return InvalidArgument("a component without a name must be the only one");
    }
    if (spec.Find(name) != static_cast<int>(i)) {
      return InvalidArgument("the component \"{}\" is there twice", name);
    }
  }
  return absl::OkStatus();
}

}  // namespace feedmill
