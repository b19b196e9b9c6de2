#include "core/definition/source_by_name.h"

#include "absl/strings/ascii.h"
#include "core/base/status.h"
#include "core/dataset/source_types.h"
#include "core/io/file_systems.h"
#include "core/operators/registry.h"

namespace feedmill {
namespace {

// Returns the name without what does not say its kind.
std::string EndOf(std::string_view name) {
  if (!SchemeOf(name).empty()) name = name.substr(0, name.find('?'));
  std::string lower(name);
  absl::AsciiStrToLower(&lower);
  while (lower.size() > 1 && lower.ends_with('/')) lower.pop_back();
  if (CompressionOf(lower) != Compression::kNone) {
    lower.erase(lower.rfind('.'));
  }
  return lower;
}

}  // namespace

const SourceKind* KindByName(std::string_view name) {
  const std::string end = EndOf(name);
  if (end.ends_with(".tgz")) return FindSourceKind("webdataset");
  for (const SourceKind* const kind : SourceKinds()) {
    for (const std::string_view ending : kind->endings()) {
      if (end.ends_with(ending)) return kind;
    }
  }
  return nullptr;
}

absl::StatusOr<Source> SourceByName(const std::string& name) {
  const SourceKind* const kind = KindByName(name);
  if (kind == nullptr) {
    return InvalidArgument(
        "the name {} does not say what it is; write the source, as {{source: "
        "{{csv: {{files: {}}}}}}}",
        name, name);
  }
  Source source = kind->New();
  *MutableSourceFiles(source) = {name};
  if (!EndOf(name).ends_with(".tsv")) return source;
  source.Change([](const FieldList& fields) {
    for (const Field& field : fields) {
      if (field.name != "delimiter") continue;
      *std::get<std::string*>(field.value) = "\t";
    }
  });
  return source;
}

}  // namespace feedmill
