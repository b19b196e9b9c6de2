#include "core/formats/file_checks.h"

#include "core/base/status.h"
#include "core/chunk/buffer_builder.h"
#include "core/chunk/validity.h"
#include "core/dataset/source_types.h"
#include "core/sources/value_text.h"

namespace feedmill {
namespace {

constexpr int64_t kFieldItemsMax = int64_t{1} << 31;

absl::Status CheckField(const SourceField& field, FieldShapes shapes) {
  int64_t items = 1;
  bool fits = shapes != FieldShapes::kScalars || field.shape.empty();
  for (const int64_t dim : field.shape) {
    if (dim == kUnknownDim) {
      const bool list =
          shapes == FieldShapes::kLists && field.shape.size() == 1;
      fits = fits && (list || shapes == FieldShapes::kAny);
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

absl::Status CheckDefault(const SourceField& field, bool allowed) {
  if (!field.default_text) return absl::OkStatus();
  if (!allowed) {
    return InvalidArgument(
        "\"{}\" has a default (\"= {}\"), which only fields of webdataset and "
        "features of parse_example have",
        field.name, *field.default_text);
  }
  BufferBuilder value;
  if (field.dtype == DType::kBytes ||
      AppendNumber(*field.default_text, field.dtype, value)) {
    return absl::OkStatus();
  }
  return InvalidArgument("the default of \"{}\", \"{}\", is no {}", field.name,
                         *field.default_text, DTypeName(field.dtype));
}

}  // namespace

Field FilesField(std::vector<std::string>& files) {
  return {"files", FileNames{&files}, Field::kRequired | Field::kShort,
          "Names of files, globs, folders or URLs, or a manifest of them."};
}

Field CompressionField(Compression& compression,
                       const std::vector<std::string>& files) {
  return {
      "compression", FileCompression{&compression, &files}, Field::kOptional,
      "none, gzip, zstd, bz2 or xz, for all files.",
      "by the first bytes of the first file, or by its name if it cannot be "
      "read"};
}

Field WindowLogField(int64_t& window_log) {
  return {"zstd_window_log", &window_log, Field::kSparse | Field::kPositive,
          "Largest zstd window that is accepted, as a power of two: 10 to 31 "
          "(2 GiB of memory a file).",
          "27"};
}

Field EncodingField(TextEncoding& encoding) {
  return {"encoding", Word(encoding, {"utf-8", "latin-1", "utf-16"}),
          Field::kSparse,
          "Encoding of the files; components are UTF-8. UTF-16 files are read "
          "from their beginning only, as compressed files are."};
}

Field ExactIntegersField(bool& exact_integers) {
  return {"exact_integers", &exact_integers,
          Field::kSparse | Field::kUnidentified | Field::kSetIfInferred,
          "An integer whose digits its float does not keep, such as "
          "9007199254740993, is a data error of its record, and not rounded; "
          "set if `fields` are inferred."};
}

Field FieldsField(std::vector<SourceField>& fields) {
  return {"fields", DeclaredFields{&fields}, Field::kOptional,
          "The components and their types.", "inferred from the first records"};
}

Field TypesField(std::vector<SourceField>& types) {
  return {"types", DeclaredTypes{{&types}}, Field::kSparse,
          "The types of some components, where `fields` are inferred."};
}

Positions FilesIfCompressed(Compression compression,
                            const std::vector<std::string>& files,
                            Positions positions) {
  return ResolvedCompression(compression, files) == Compression::kNone
             ? positions
             : Positions::kFiles;
}

absl::Status CheckFiles(const std::vector<std::string>& files,
                        Compression compression, int64_t zstd_window_log) {
  if (zstd_window_log != 0 && (zstd_window_log < 10 || zstd_window_log > 31)) {
    return InvalidArgument("zstd_window_log must be 10 to 31, it is {}",
                           zstd_window_log);
  }
  if (files.empty()) return InvalidArgument("the list of files is empty");
  for (const std::string& file : files) {
    if (file.empty()) return InvalidArgument("a file name is empty");
  }
  if (compression != Compression::kByName) return absl::OkStatus();
  for (const std::string& file : files) {
    if (CompressionOf(file) == CompressionOf(files.front())) continue;
    return InvalidArgument(
        "\"{}\" and \"{}\" are compressed in different ways; read them as "
        "two sources, or write `compression: none`, `gzip`, `zstd`, `bz2` or "
        "`xz`",
        files.front(), file);
  }
  return absl::OkStatus();
}

absl::StatusOr<ElementSpec> SpecOfFields(const std::vector<SourceField>& fields,
                                         FieldShapes shapes, bool named,
                                         bool defaults, bool nulls) {
  for (size_t f = 0; f < fields.size() && !nulls; ++f) {
    if (!MayBeNull(std::span(fields), f)) continue;
    return InvalidArgument(
        "\"{}\" is \"{}?\", and this format has no nulls; leave the ? out",
        fields[f].name, TypeName(fields[f].dtype, fields[f].logical));
  }
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
    FM_RETURN_IF_ERROR(CheckDefault(field, defaults));
    spec.components.push_back(
        {field.name, field.dtype, field.shape, field.logical});
  }
  FM_RETURN_IF_ERROR(CheckComponentNames(spec));
  return spec;
}

ElementSpec UnnamedSpec(DType dtype) { return ElementSpec{{{"", dtype, {}}}}; }

}  // namespace feedmill
