#ifndef FEEDMILL_CORE_FORMATS_COLUMNAR_SOURCE_H_
#define FEEDMILL_CORE_FORMATS_COLUMNAR_SOURCE_H_

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/formats/file_checks.h"
#include "core/formats/file_source_of.h"
#include "core/io/file_system.h"
#include "core/sources/columnar_file.h"

namespace feedmill {

// ---- shared parts of the sources of columnar files

absl::StatusOr<ElementSpec> OutputOfColumns(
    const std::vector<std::string>& files,
    const std::vector<std::string>& columns,
    const std::vector<SourceField>& fields);
// Returns the columns of the first file as fields. `columns` selects them and
// gives their order; empty: all columns. The name of a struct stands for all of
// its members. `partitions`: the partitions of the path are columns, too.
// Columns of `types` may have types that no component can hold. A column of
// integers or bools may be null if the footer of this file, or of some others,
// counts a null.
absl::StatusOr<std::vector<SourceField>> InferColumns(
    ColumnarFormat format, const std::vector<std::string>& columns,
    bool partitions, const std::vector<SourceField>& types,
    const std::vector<FoundFile>& files);
// Returns the files of a folder or glob that have rows. Spark, Hive and Dask
// write others beside them: names that begin with '_', as _SUCCESS and
// _metadata, and the folder _temporary. A file that is named by itself is read.
// InvalidArgument if the files belong to a table (table_folders.h).
absl::StatusOr<std::vector<FoundFile>> FilesWithRows(
    const std::string& pattern, std::vector<FoundFile> found);
absl::StatusOr<uint64_t> CountColumnarRows(ColumnarFormat format,
                                           const RandomAccessFile& file,
                                           uint64_t size);
absl::StatusOr<std::unique_ptr<const RecordSource>> MakeColumnarSource(
    const ColumnarReading& reading, const std::vector<SourceField>& fields,
    std::shared_ptr<const Manifest> manifest, const std::vector<bool>& live,
    const RowFilter& filter);

// The static members that FileSourceOf needs, except a name and a summary.
template <class S, ColumnarFormat Format>
struct ColumnarSourceOf {
  using Options = S;

  // Arrow files only: Parquet's values are encoded.
  static constexpr bool kMaps = requires(S s) { s.memory_map; };

  static FieldList Fields(S& s) {
    FieldList fields{FilesField(s.files),
                     {"columns", &s.columns, Field::kOptional,
                      "Columns to read, in this order; a struct's name is all "
                      "of its members.",
                      "all columns"},
                     FieldsField(s.fields),
                     TypesField(s.types),
                     {"partitions", &s.partitions, Field::kOptional,
                      "Folders called KEY=VALUE are columns, too."}};
    if constexpr (kMaps) {
      fields.push_back({"memory_map", &s.memory_map, Field::kOptional,
                        "A local read gives views of the mapped files, which "
                        "must not change meanwhile."});
    }
    return fields;
  }
  static SourceProperties Properties(const S&) { return {}; }
  static absl::StatusOr<ElementSpec> Output(const S& s,
                                            std::span<const ElementSpec>) {
    return OutputOfColumns(s.files, s.columns, s.fields);
  }
  static absl::StatusOr<std::vector<FoundFile>> FilesToRead(
      const std::string& pattern, std::vector<FoundFile> found) {
    return FilesWithRows(pattern, std::move(found));
  }
  static absl::StatusOr<std::vector<SourceField>> InferFieldsOfFiles(
      const S& s, const std::vector<FoundFile>& files) {
    return InferColumns(Format, s.columns, s.partitions, s.types, files);
  }
  static absl::StatusOr<uint64_t> CountRecords(const S&,
                                               const RandomAccessFile& file,
                                               uint64_t size) {
    return CountColumnarRows(Format, file, size);
  }
  static absl::StatusOr<std::unique_ptr<const RecordSource>> MakeRecords(
      const S& s, std::shared_ptr<const Manifest> manifest,
      const std::vector<bool>& live, const RowFilter& filter) {
    ColumnarReading reading{.format = Format, .partitions = s.partitions};
    if constexpr (kMaps) reading.memory_map = s.memory_map;
    return MakeColumnarSource(reading, s.fields, std::move(manifest), live,
                              filter);
  }
};

// The folder of a Delta, Iceberg, Hudi or Lance table also has files of earlier
// versions, with rows that were deleted or are elsewhere, too. Only the log of
// the table says which files count.
//
// Returns InvalidArgument, which names the table, if the files that a folder or
// a glob matches belong to a table. Files that are named one by one are
// accepted, and so are files of the log alone.
absl::Status RefuseTables(const std::string& pattern,
                          std::span<const FoundFile> found);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_FORMATS_COLUMNAR_SOURCE_H_
