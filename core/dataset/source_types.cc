#include "core/dataset/source_types.h"

#include <optional>
#include <variant>

#include "core/base/status.h"
#include "core/base/utf8.h"
#include "core/chunk/validity.h"
#include "core/dataset/generator_source.h"

namespace feedmill {
namespace {

bool EndsIn(const std::string& name, std::string_view end) {
  return name.size() > end.size() &&
         std::string_view(name).substr(name.size() - end.size()) == end;
}

// Returns the target of the source's only field of that type; nullopt if it has
// none.
template <class Target>
std::optional<Target> FindField(const Source& source) {
  std::optional<Target> found;
  if (source.empty()) return found;
  source.ReadFields([&](const FieldList& fields) {
    for (const Field& field : fields) {
      const Target* const target = std::get_if<Target>(&field.value);
      if (target != nullptr) found = *target;
    }
  });
  return found;
}

// Same for options that may be changed; first makes them the source's own.
template <class Target>
std::optional<Target> FindOwnField(Source& source) {
  if (!source.empty()) source.Change([](const FieldList&) {});
  return FindField<Target>(source);
}

}  // namespace

SourceProperties PropertiesOf(const Source& source) {
  return source.kind().Properties(source.options());
}

const std::vector<std::string>* SourceFiles(const Source& source) {
  const auto found = FindField<FileNames>(source);
  return found ? found->files : nullptr;
}

std::vector<std::string>* MutableSourceFiles(Source& source) {
  const auto found = FindOwnField<FileNames>(source);
  return found ? found->files : nullptr;
}

const std::vector<Graph>* SourceInputs(const Source& source) {
  const auto found = FindField<InputPipelines>(source);
  return found && !found->table ? found->inputs : nullptr;
}

std::vector<Graph>* MutableSourceInputs(Source& source) {
  const auto found = FindOwnField<InputPipelines>(source);
  return found && !found->table ? found->inputs : nullptr;
}

const std::vector<SourceField>* SourceFields(const Source& source) {
  const auto found = FindField<DeclaredFields>(source);
  return found ? found->fields : nullptr;
}

std::vector<SourceField>* MutableSourceFields(Source& source) {
  const auto found = FindOwnField<DeclaredFields>(source);
  return found ? found->fields : nullptr;
}

const std::vector<SourceField>* SourceTypes(const Source& source) {
  const auto found = FindField<DeclaredTypes>(source);
  return found ? found->fields : nullptr;
}

std::vector<SourceField>* MutableSourceTypes(Source& source) {
  const auto found = FindOwnField<DeclaredTypes>(source);
  return found ? found->fields : nullptr;
}

bool IsInfinite(const Graph& graph) {
  bool infinite = !graph.source.empty() && PropertiesOf(graph.source).infinite;
  for (const Step& step : graph.steps) {
    if (const auto* repeat = step.As<RepeatStep>()) {
      infinite = infinite || !repeat->count.has_value();
    } else if (step.Is<TakeStep>()) {
      infinite = false;
    }
  }
  return infinite;
}

const Compression* WrittenCompression(const Source& source) {
  const auto found = FindField<FileCompression>(source);
  return found ? found->compression : nullptr;
}

Compression* MutableCompression(Source& source) {
  const auto found = FindOwnField<FileCompression>(source);
  return found ? found->compression : nullptr;
}

Compression CompressionOf(const std::string& name) {
  // The path of a URL may be followed by a query.
  const bool is_url = name.find("://") != std::string::npos;
  const std::string file = is_url ? name.substr(0, name.find('?')) : name;
  if (EndsIn(file, ".gz") || EndsIn(file, ".tgz")) return Compression::kGzip;
  if (EndsIn(file, ".zst")) return Compression::kZstd;
  if (EndsIn(file, ".bz2") || EndsIn(file, ".tbz2")) return Compression::kBz2;
  if (EndsIn(file, ".xz") || EndsIn(file, ".txz")) return Compression::kXz;
  return Compression::kNone;
}

Compression ResolvedCompression(Compression written,
                                const std::vector<std::string>& files) {
  if (written != Compression::kByName) return written;
  return files.empty() ? Compression::kNone : CompressionOf(files.front());
}

Compression SourceCompression(const Source& source) {
  const auto found = FindField<FileCompression>(source);
  return found ? ResolvedCompression(*found->compression, *found->files)
               : Compression::kNone;
}

std::string_view ReadInOrderReason(const Source& source) {
  const Compression compression = SourceCompression(source);
  if (compression != Compression::kNone) return CompressionName(compression);
  if (source.Is<GeneratorSource>()) return "generator";
  return PropertiesOf(source).utf16 ? "UTF-16" : "";
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
    case Compression::kBz2:
      return "bz2";
    case Compression::kXz:
      return "xz";
  }
  return "";
}

absl::Status CheckNotReserved(std::string_view name) {
  if (!IsValidityName(name)) return absl::OkStatus();
  return InvalidArgument(
      "the name \"{}\" is reserved for the validity of a component that may be "
      "null; choose another name",
      name);
}

absl::Status CheckComponentNames(const ElementSpec& spec) {
  if (spec.components.empty()) {
    return InvalidArgument("it makes no component; name at least one");
  }
  if (spec.components.size() > kComponentsMax) {
    return InvalidArgument(
        "{} components are more than {}; name only the needed components "
        "(`fields` of a source)",
        spec.components.size(), kComponentsMax);
  }
  for (size_t i = 0; i < spec.components.size(); ++i) {
    const std::string& name = spec.components[i].name;
    if (name.empty() && spec.components.size() > 1) {
      return InvalidArgument(
          "component {} of {} has no name; a component without a name must be "
          "the only one, so give it one",
          i + 1, spec.components.size());
    }
    if (!IsUtf8(name)) {
      return InvalidArgument(
          "the name of component {} of {} is not UTF-8; give it another one",
          i + 1, spec.components.size());
    }
    if (spec.Find(name) != static_cast<int>(i)) {
      return InvalidArgument(
          "the component \"{}\" is there twice; give one another name, or "
          "leave it out",
          name);
    }
  }
  return absl::OkStatus();
}

}  // namespace feedmill
