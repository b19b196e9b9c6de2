#include "core/formats/file_checks.h"

#include "core/base/status.h"
#include "core/dataset/source_types.h"

namespace feedmill {
namespace {

constexpr int64_t kFieldItemsMax = int64_t{1} << 31;

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

}  // namespace

Field FilesField(std::vector<std::string>& files) {
  return {"files", FileNames{&files}, Field::kRequired | Field::kShort,
          "Names of files, globs, folders or URLs; {manifest: NAME}: a list of "
          "them."};
}

Field CompressionField(Compression& compression,
                       const std::vector<std::string>& files) {
  return {"compression", FileCompression{&compression, &files},
          Field::kOptional,
          "none, gzip or zstd; told by the files' names if absent."};
}

Field FieldsField(std::vector<SourceField>& fields) {
  return {"fields", DeclaredFields{&fields}, Field::kOptional,
          "The components and their types; found out from the first records "
          "if absent."};
}

Positions FilesIfCompressed(Compression compression,
                            const std::vector<std::string>& files,
                            Positions positions) {
  return ResolvedCompression(compression, files) == Compression::kNone
             ? positions
             : Positions::kFiles;
}

absl::Status CheckFiles(const std::vector<std::string>& files,
                        Compression compression) {
  if (files.empty()) return InvalidArgument("the list of files is empty");
  for (const std::string& file : files) {
    if (file.empty()) return InvalidArgument("a file name is empty");
  }
  if (compression != Compression::kByName) return absl::OkStatus();
  for (const std::string& file : files) {
    if (CompressionOf(file) == CompressionOf(files.front())) continue;
    return InvalidArgument(
        "\"{}\" and \"{}\" are compressed in different ways; read them as "
        "two sources, or write `compression: none`, `gzip` or `zstd`",
        files.front(), file);
  }
  return absl::OkStatus();
}

absl::StatusOr<ElementSpec> SpecOfFields(const std::vector<SourceField>& fields,
                                         FieldShapes shapes, bool named) {
  for (const SourceField& field : fields) {
    if (named && field.name.empty()) {
      return InvalidArgument(
          "field {} of {} has no name, so no step can name it; give `fields` "
          "without it",
          &field - fields.data() + 1, fields.size());
    }
  }
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

ElementSpec UnnamedSpec(DType dtype) { return ElementSpec{{{"", dtype, {}}}}; }

}  // namespace feedmill
