#include <algorithm>
#include <span>
#include <vector>

#include "core/base/status.h"
#include "core/formats/file_checks.h"
#include "core/formats/file_source_of.h"
#include "core/formats/kinds.h"
#include "core/formats/npy_file.h"
#include "core/io/file_systems.h"
#include "core/sources/array_records.h"

namespace feedmill {
namespace {

std::string TypeText(DType dtype, const Shape& shape) {
  return fmt::format("{}{}", DTypeName(dtype), ShapeToString(shape));
}

absl::Status CheckReadable(const FileArray& array, const std::string& path) {
  if (array.unreadable.empty()) return absl::OkStatus();
  return DataLoss(
      "{}: the dtype {} of \"{}\" cannot be read: bool, integers, floats of at "
      "most 64 bits, datetime64, timedelta64 and texts can (`fields` that do "
      "not name it do without it)",
      path, array.unreadable, array.name);
}

// Returns the arrays that the fields name. All must have the same number of
// rows.
absl::StatusOr<std::vector<FileArray>> ArraysOf(const NpySource& source,
                                                const RandomAccessFile& file,
                                                uint64_t size) {
  const std::string& path = file.name();
  FM_ASSIGN_OR_RETURN(const auto arrays,
                      ReadArrayFile(file, size, &source.fields));
  std::vector<FileArray> out;
  for (const SourceField& field : source.fields) {
    const auto found =
        std::find_if(arrays.begin(), arrays.end(),
                     [&](const FileArray& a) { return a.name == field.name; });
    if (found == arrays.end()) {
      return DataLoss("{}: there is no array \"{}\" in it", path, field.name);
    }
    FM_RETURN_IF_ERROR(CheckReadable(*found, path));
    if (found->dtype != field.dtype || found->shape != field.shape) {
      return DataLoss("{}: the rows of \"{}\" are {}, not {}", path, field.name,
                      TypeText(found->dtype, found->shape),
                      TypeText(field.dtype, field.shape));
    }
    if (!out.empty() && out[0].rows != found->rows) {
      return DataLoss("{}: \"{}\" has {} rows, \"{}\" has {}", path,
                      out[0].name, out[0].rows, found->name, found->rows);
    }
    out.push_back(*found);
  }
  return out;
}

struct NpyFormat {
  using Options = NpySource;
  static constexpr std::string_view kName = "npy";
  static constexpr std::string_view kSummary =
      "Reads the rows of NumPy's arrays: a component for each array of a .npz "
      "or member of a structured dtype.";

  static FieldList Fields(NpySource& s) {
    return {FilesField(s.files), FieldsField(s.fields)};
  }
  static SourceProperties Properties(const NpySource&) { return {}; }
  static absl::StatusOr<ElementSpec> Output(const NpySource& s,
                                            std::span<const ElementSpec>) {
    FM_RETURN_IF_ERROR(CheckFiles(s.files));
    return SpecOfFields(s.fields, FieldShapes::kStatic, /*named=*/false);
  }
  static absl::StatusOr<std::vector<SourceField>> InferFieldsOfFile(
      const NpySource&, const std::string& path) {
    FM_ASSIGN_OR_RETURN(const auto file, OpenFile(path));
    FM_ASSIGN_OR_RETURN(const FileIdentity identity, file->Identity());
    FM_ASSIGN_OR_RETURN(const auto arrays, ReadArrayFile(*file, identity.size));
    std::vector<SourceField> fields;
    for (const FileArray& array : arrays) {
      FM_RETURN_IF_ERROR(CheckReadable(array, path));
      fields.push_back({array.name, array.dtype, array.shape});
    }
    return fields;
  }
  static absl::StatusOr<uint64_t> CountRecords(const NpySource& s,
                                               const RandomAccessFile& file,
                                               uint64_t size) {
    FM_ASSIGN_OR_RETURN(const auto arrays, ArraysOf(s, file, size));
    return arrays[0].rows;
  }
  static absl::StatusOr<std::unique_ptr<const RecordSource>> MakeRecords(
      const NpySource& s, std::shared_ptr<const Manifest> manifest,
      const std::vector<bool>& live) {
    return MakeArrayRecords(
        [s](const RandomAccessFile& file, uint64_t size) {
          return ArraysOf(s, file, size);
        },
        live, std::move(manifest));
  }
};

}  // namespace

const SourceKind& NpyKind() {
  static const FileSourceOf<NpyFormat> kind;
  return kind;
}

}  // namespace feedmill
