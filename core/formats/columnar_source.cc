#include "core/formats/columnar_source.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "core/base/status.h"
#include "core/base/utf8.h"
#include "core/dataset/nearest_name.h"
#include "core/formats/columnar_plugin.h"
#include "core/io/file_errors.h"
#include "core/io/file_systems.h"
#include "core/io/side_by_side.h"
#include "core/sources/columnar_records.h"
#include "core/sources/field_inference.h"
#include "core/sources/path_partitions.h"
#include "core/sources/record_decoder.h"

namespace feedmill {
namespace {

// True if `chosen` is the column `name`, or a struct that contains it.
bool Chooses(std::string_view chosen, std::string_view name) {
  return name == chosen ||
         (name.size() > chosen.size() && name.starts_with(chosen) &&
          name[chosen.size()] == '.');
}

bool IsBesideData(std::string_view name) {
  return name.substr(name.rfind('/') + 1).starts_with('_') ||
         name.find("/_temporary/") != name.npos;
}

// Wraps a file without owning it: ColumnarReader takes a shared_ptr. REQUIRES:
// the file outlives the result.
std::shared_ptr<const RandomAccessFile> Borrowed(const RandomAccessFile& file) {
  return {std::shared_ptr<const void>(), &file};
}

absl::StatusOr<std::unique_ptr<const ColumnarFile>> OpenColumns(
    ColumnarFormat format, std::shared_ptr<const RandomAccessFile> file,
    uint64_t size) {
  FM_ASSIGN_OR_RETURN(const ColumnarReader* const reader, LoadColumnarReader());
  const std::string name = file->name();
  auto opened =
      reader->Open(format, std::move(file), size, /*memory_map=*/false);
  if (!opened.ok()) return NameFile(opened.status(), name);
  return opened;
}

// Adds the columns that `chosen` names: a column, or a struct's members.
absl::Status AddChosen(const std::string& chosen,
                       const std::vector<ColumnarColumn>& columns,
                       std::vector<const ColumnarColumn*>& out) {
  const size_t before = out.size();
  for (const ColumnarColumn& column : columns) {
    if (column.field.name == chosen) out.push_back(&column);
  }
  for (const ColumnarColumn& column : columns) {
    if (out.size() > before && out[before]->field.name == chosen) break;
    if (Chooses(chosen, column.field.name)) out.push_back(&column);
  }
  if (out.size() > before) return absl::OkStatus();
  std::vector<std::string_view> known;
  for (const ColumnarColumn& column : columns) {
    known.push_back(column.field.name);
  }
  return InvalidArgument("there is no column \"{}\"{}", Shown(chosen),
                         DidYouMean(chosen, known));
}

// Adds the partitions of a path that are not columns of its file.
void AddPartitions(const std::string& path,
                   std::vector<ColumnarColumn>& columns) {
  for (const PathPartition& partition : PartitionsOf(path)) {
    const bool in_file =
        std::ranges::any_of(columns, [&](const ColumnarColumn& column) {
          return column.field.name == partition.key;
        });
    if (!in_file) columns.push_back({FieldOf(partition)});
  }
}

absl::StatusOr<std::vector<const ColumnarColumn*>> Choose(
    const std::vector<std::string>& chosen,
    const std::vector<ColumnarColumn>& columns,
    const std::vector<SourceField>& types) {
  std::vector<const ColumnarColumn*> out;
  for (const std::string& name : chosen) {
    FM_RETURN_IF_ERROR(AddChosen(name, columns, out));
  }
  if (chosen.empty()) {
    for (const ColumnarColumn& column : columns) out.push_back(&column);
  }
  if (out.empty()) return InvalidArgument("the file has no columns");
  std::set<std::string_view> names;
  for (const ColumnarColumn* const column : out) {
    const std::string& name = column->field.name;
    const bool typed =
        std::ranges::find(types, name, &SourceField::name) != types.end();
    if (!column->unreadable.empty() && !typed) {
      // A column without values may have a type in other files.
      const bool nulls = column->unreadable == "null" ||
                         column->unreadable.find(": null") != std::string::npos;
      return InvalidArgument(
          "the column \"{}\" is {}, which no component can hold; {}name the "
          "other columns in `columns`",
          Shown(name), column->unreadable,
          nulls ? fmt::format("declare its type, as in types: {{\"{}\": "
                              "float64}}, or ",
                              Shown(name))
                : "");
    }
    if (!IsUtf8(name)) {
      return InvalidArgument(
          "the name of the column \"{}\" is not UTF-8; name the other columns "
          "in `columns`",
          Shown(name));
    }
    if (name.empty()) {
      return InvalidArgument(
          "a column has no name; name the other columns in `columns`");
    }
    if (!names.insert(name).second) {
      return InvalidArgument("the column \"{}\" is there twice; rename one",
                             Shown(name));
    }
  }
  return out;
}

absl::StatusOr<std::unique_ptr<const ColumnarFile>> OpenFound(
    ColumnarFormat format, const FoundFile& found) {
  FM_ASSIGN_OR_RETURN(const std::shared_ptr<const RandomAccessFile> file,
                      OpenFile(found));
  FM_ASSIGN_OR_RETURN(const FileIdentity identity, file->Identity());
  return OpenColumns(format, file, identity.size);
}

// Notes the fields of which the file counts nulls, and whose dtype has no value
// for a null.
void MarkNulls(const ColumnarFile& file, std::vector<SourceField>& fields) {
  std::vector<ColumnarColumn> wanted;
  std::vector<SourceField*> marked;
  for (SourceField& field : fields) {
    if (field.dtype == DType::kBytes || IsFloat(field.dtype) ||
        !field.shape.empty()) {
      continue;
    }
    const auto& columns = file.columns();
    const auto found =
        std::ranges::find_if(columns, [&field](const ColumnarColumn& column) {
          return column.field.name == field.name && column.unreadable.empty();
        });
    if (found == columns.end()) continue;
    wanted.push_back(*found);
    marked.push_back(&field);
  }
  if (wanted.empty()) return;
  const std::vector<bool> have = file.HaveNulls(wanted);
  for (size_t k = 0; k < marked.size(); ++k) {
    marked[k]->has_nulls = marked[k]->has_nulls || have[k];
  }
}

}  // namespace

absl::StatusOr<ElementSpec> OutputOfColumns(
    const std::vector<std::string>& files,
    const std::vector<std::string>& columns,
    const std::vector<SourceField>& fields) {
  FM_RETURN_IF_ERROR(CheckFiles(files));
  for (const SourceField& field : fields) {
    const auto chooses = [&](const std::string& chosen) {
      return Chooses(chosen, field.name);
    };
    if (columns.empty() || std::ranges::any_of(columns, chooses)) continue;
    return InvalidArgument("`fields` has \"{}\", which `columns` lacks",
                           field.name);
  }
  return SpecOfFields(fields, FieldShapes::kLists, /*named=*/true,
                      /*defaults=*/false, /*nulls=*/true);
}

absl::StatusOr<std::vector<SourceField>> InferColumns(
    ColumnarFormat format, const std::vector<std::string>& columns,
    bool partitions, const std::vector<SourceField>& types,
    const std::vector<FoundFile>& files) {
  FM_ASSIGN_OR_RETURN(const auto opened, OpenFound(format, files[0]));
  std::vector<ColumnarColumn> all = opened->columns();
  if (partitions) AddPartitions(files[0].name, all);
  const auto chosen = Choose(columns, all, types);
  if (!chosen.ok()) return Annotate(chosen.status(), files[0].name);
  std::vector<SourceField> fields;
  for (const ColumnarColumn* const column : *chosen) {
    fields.push_back(column->field);
  }
  MarkNulls(*opened, fields);
  const auto others = FurtherFiles(files, 1);
  std::vector<std::vector<SourceField>> seen(others.size(), fields);
  // A file that cannot be read is an error when it is read.
  ForEachSideBySide(others.size(), others.size(), [&](size_t k) {
    const auto other = OpenFound(format, *others[k]);
    if (other.ok()) MarkNulls(**other, seen[k]);
    return absl::OkStatus();
  }).IgnoreError();
  for (size_t f = 0; f < fields.size(); ++f) {
    for (const auto& one : seen) {
      fields[f].has_nulls = fields[f].has_nulls || one[f].has_nulls;
    }
  }
  return fields;
}

absl::StatusOr<std::vector<FoundFile>> FilesWithRows(
    const std::string& pattern, std::vector<FoundFile> found) {
  if (found.size() == 1 && found[0].name == pattern) return found;
  FM_RETURN_IF_ERROR(RefuseTables(pattern, found));
  std::vector<FoundFile> kept;
  for (const FoundFile& file : found) {
    if (!IsBesideData(file.name)) kept.push_back(file);
  }
  // If all names are of this kind, they belong to the data.
  return kept.empty() ? found : kept;
}

absl::StatusOr<uint64_t> CountColumnarRows(ColumnarFormat format,
                                           const RandomAccessFile& file,
                                           uint64_t size) {
  FM_ASSIGN_OR_RETURN(const auto opened,
                      OpenColumns(format, Borrowed(file), size));
  uint64_t rows = 0;
  for (const uint64_t of_group : opened->group_rows()) rows += of_group;
  return rows;
}

absl::StatusOr<std::unique_ptr<const RecordSource>> MakeColumnarSource(
    const ColumnarReading& reading, const std::vector<SourceField>& fields,
    std::shared_ptr<const Manifest> manifest, const std::vector<bool>& live,
    const RowFilter& filter) {
  FM_ASSIGN_OR_RETURN(const ColumnarReader* const reader, LoadColumnarReader());
  return MakeColumnarRecords(*reader, reading, fields, live,
                             std::move(manifest), filter);
}

}  // namespace feedmill
