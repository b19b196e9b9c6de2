#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "core/base/status.h"
#include "core/formats/file_checks.h"
#include "core/formats/file_source_of.h"
#include "core/formats/npy_file.h"
#include "core/io/file_systems.h"
#include "core/sources/array_records.h"
#include "core/sources/record_decoder.h"

namespace feedmill {
namespace {

std::string TypeText(DType dtype, const Shape& shape) {
  return fmt::format("{}{}", DTypeName(dtype), ShapeToString(shape));
}

// Returns `name: type` as YAML has it.
std::string FieldText(const FileArray& array) {
  const std::string type = TypeText(array.dtype, array.shape);
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '_' || c == '.';
  };
  const bool is_plain =
      std::all_of(array.name.begin(), array.name.end(), plain);
  return fmt::format("{0}{1}{0}: {2}{3}{2}", is_plain ? "" : "\"",
                     Shown(array.name), array.shape.empty() ? "" : "\"", type);
}

// Returns the number of rows that most arrays have; the first such number.
// REQUIRES: !arrays.empty().
uint64_t RowsOfMost(const std::vector<const FileArray*>& arrays) {
  const auto count = [&](const FileArray* of) {
    return std::count_if(
        arrays.begin(), arrays.end(),
        [of](const FileArray* other) { return other->rows == of->rows; });
  };
  return (*std::max_element(arrays.begin(), arrays.end(),
                            [&](const FileArray* a, const FileArray* b) {
                              return count(a) < count(b);
                            }))
      ->rows;
}

// Returns the advice to read only the sound arrays.
std::string Remedy(const std::vector<const FileArray*>& sound, uint64_t rows) {
  constexpr size_t kNamesMax = 20;
  std::string fields;
  size_t shown = 0;
  for (const FileArray* const array : sound) {
    if (array->rows != rows || shown > kNamesMax) continue;
    fields += fields.empty() ? "" : ", ";
    fields += ++shown > kNamesMax ? "…" : FieldText(*array);
  }
  return fmt::format("leave it out, as with fields: {{{}}}", fields);
}

// Returns the array of a field, or the unreadable one that may contain it; null
// if there is neither.
const FileArray* ArrayOf(const SourceField& field,
                         const std::vector<FileArray>& arrays) {
  const auto is_it = [&](const FileArray& array) {
    return array.name == field.name ||
           (!array.unreadable.empty() &&
            field.name.starts_with(array.name + "."));
  };
  const auto found = std::find_if(arrays.begin(), arrays.end(), is_it);
  return found == arrays.end() ? nullptr : &*found;
}

// Returns why a field cannot be made of an array; "" if it can.
std::string Fault(const FileArray& array, const SourceField& field) {
  if (!array.unreadable.empty()) return array.unreadable;
  if (array.dtype == field.dtype && array.shape == field.shape) return "";
  return fmt::format("the rows of \"{}\" are {}, not {}", Shown(field.name),
                     TypeText(array.dtype, array.shape),
                     TypeText(field.dtype, field.shape));
}

// Makes a float16 array float32 if that is the field's type, as it was before
// feedmill had float16.
void WidenHalves(const SourceField& field, std::vector<FileArray>& arrays) {
  for (FileArray& array : arrays) {
    if (array.name != field.name || array.dtype != DType::kFloat16 ||
        field.dtype != DType::kFloat32) {
      continue;
    }
    array.dtype = DType::kFloat32;
    array.stored = array.stored == StoredAs::kSwapped ? StoredAs::kSwappedHalf
                                                      : StoredAs::kHalf;
  }
}

std::string OtherRows(const FileArray& array, uint64_t rows) {
  return fmt::format("\"{}\" has {} rows, the other arrays have {}",
                     Shown(array.name), array.rows, rows);
}

// Returns the arrays of the fields. Of a field that is not live, only the
// number of rows is set; its array may be of any kind. `live`: empty: all.
absl::StatusOr<std::vector<FileArray>> ArraysOf(const NpySource& source,
                                                const std::vector<bool>& live,
                                                const RandomAccessFile& file,
                                                uint64_t size) {
  const std::string& path = file.name();
  FM_ASSIGN_OR_RETURN(auto arrays, ReadArrayFile(file, size, &source.fields));
  for (const SourceField& field : source.fields) WidenHalves(field, arrays);
  std::vector<const FileArray*> found;
  std::vector<const FileArray*> sound;
  for (const SourceField& field : source.fields) {
    found.push_back(ArrayOf(field, arrays));
    if (found.back() == nullptr) {
      return DataLoss("{}: there is no array \"{}\" in it", path, field.name);
    }
    if (std::ranges::count(arrays, field.name, &FileArray::name) > 1) {
      return DataLoss(
          "{}: there are two arrays \"{}\" in it, of which one may be a member "
          "of a structured dtype; rename one",
          path, Shown(field.name));
    }
    if (Fault(*found.back(), field).empty()) sound.push_back(found.back());
  }
  if (sound.empty()) {
    return DataLoss("{}: {}", path, Fault(*found[0], source.fields[0]));
  }
  const uint64_t rows = RowsOfMost(sound);
  std::vector<FileArray> out;
  for (size_t f = 0; f < found.size(); ++f) {
    if (!live.empty() && !live[f]) {
      out.emplace_back().rows = rows;
      continue;
    }
    std::string fault = Fault(*found[f], source.fields[f]);
    if (fault.empty() && found[f]->rows != rows) {
      fault = OtherRows(*found[f], rows);
    }
    if (!fault.empty()) {
      return DataLoss("{}: {}; {}", path, fault, Remedy(sound, rows));
    }
    out.push_back(*found[f]);
  }
  return out;
}

// Returns a field for each array. The field of an array that cannot be read
// with the others is an error only if a step needs it.
absl::StatusOr<std::vector<SourceField>> FieldsOf(
    const std::vector<FileArray>& arrays, const std::string& path) {
  std::vector<const FileArray*> sound;
  for (const FileArray& array : arrays) {
    if (array.unreadable.empty()) sound.push_back(&array);
  }
  if (sound.empty()) return DataLoss("{}: {}", path, arrays[0].unreadable);
  const uint64_t rows = RowsOfMost(sound);
  std::vector<SourceField> fields;
  for (const FileArray& array : arrays) {
    SourceField& field =
        fields.emplace_back(SourceField{array.name, array.dtype, array.shape});
    if (array.unreadable.empty()) continue;
    field.dtype = DType::kBytes;
    field.shape = {};
    field.why_bytes =
        fmt::format("{}; {}", array.unreadable, Remedy(sound, rows));
  }
  return fields;
}

struct NpyFormat {
  using Options = NpySource;
  static constexpr std::string_view kName = "npy";
  static constexpr std::array<std::string_view, 2> kEndings = {".npy", ".npz"};
  static bool Begins(std::string_view head) {
    return head.starts_with("\x93NUMPY");
  }
  static constexpr Description kDescription = {
      .summary =
          "Reads the rows of NumPy's arrays: a component for each array of a "
          ".npz or member of a structured dtype.",
      .yaml = "npy: points.npy",
      .element =
          "rows of a `.npy`, unnamed; of a `.npz` and of a structured dtype, "
          "by name",
      .errors =
          "Reading raises NotFoundError if no file matches, DataLossError for "
          "a damaged file.",
      .example = R"(
>>> [row.tolist() for row in fm.Dataset.npy("points.npy").read()]
[[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
)"};

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
      const NpySource&, const FoundFile& found) {
    FM_ASSIGN_OR_RETURN(const auto file, OpenFile(found));
    FM_ASSIGN_OR_RETURN(const FileIdentity identity, file->Identity());
    FM_ASSIGN_OR_RETURN(const auto arrays, ReadArrayFile(*file, identity.size));
    return FieldsOf(arrays, found.name);
  }
  static absl::StatusOr<uint64_t> CountRecords(const NpySource& s,
                                               const RandomAccessFile& file,
                                               uint64_t size) {
    const std::vector<bool> none(s.fields.size(), false);
    FM_ASSIGN_OR_RETURN(const auto arrays, ArraysOf(s, none, file, size));
    return arrays[0].rows;
  }
  static absl::StatusOr<std::unique_ptr<const RecordSource>> MakeRecords(
      const NpySource& s, std::shared_ptr<const Manifest> manifest,
      const std::vector<bool>& live) {
    return MakeArrayRecords(
        [s, live](const RandomAccessFile& file, uint64_t size) {
          return ArraysOf(s, live, file, size);
        },
        live, std::move(manifest));
  }
};

}  // namespace

const SourceKind& NpyKind() { return FileKindOf<NpyFormat>(); }

}  // namespace feedmill
