#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/chunk/chunk_builder.h"
#include "core/dataset/graph_text.h"
#include "core/dataset/image_table_source.h"
#include "core/dataset/lookup_step.h"
#include "core/formats/file_source_of.h"
#include "core/formats/image_files.h"
#include "core/sources/kept_values.h"
#include "core/sources/table_reader.h"

namespace feedmill {
namespace {

constexpr size_t kRowsBytesMax = size_t{1} << 30;

// Returns the live columns of a table. A process keeps one copy of them.
absl::StatusOr<std::shared_ptr<const Chunk>> RowsOf(
    const ImageTableSource& source, const Manifest& manifest,
    const std::vector<bool>& live) {
  static KeptValues<Chunk> tables;
  std::string key = Fingerprint(source.table[0]) + manifest.Hash();
  for (const bool one : live) key += one ? '1' : '0';
  return tables.Get(key, [&]() -> absl::StatusOr<std::shared_ptr<Chunk>> {
    FM_ASSIGN_OR_RETURN(const ElementSpec all, TableSpec(source.table));
    ElementSpec spec;
    for (size_t c = 0; c < all.components.size(); ++c) {
      if (live[c]) spec.components.push_back(all.components[c]);
    }
    TableReader reader(source.table[0].source, std::move(spec));
    auto rows = reader.Read(std::make_shared<const Manifest>(manifest), live,
                            kRowsBytesMax);
    if (!rows.ok()) return Annotate(rows.status(), TableText(source.table));
    return std::make_shared<Chunk>(*std::move(rows));
  });
}

// The images that a table names, with the columns of their rows.
class ImageTable final : public RecordSource {
 public:
  // `rows`: the columns that are made; null: none.
  ImageTable(std::shared_ptr<const Manifest> manifest,
             std::shared_ptr<const Chunk> rows, bool makes_image)
      : files_(MakeImageFiles(std::move(manifest))),
        rows_(std::move(rows)),
        makes_image_(makes_image) {}

  std::unique_ptr<Scratch> NewScratch() const override {
    return files_->NewScratch();
  }

  absl::StatusOr<size_t> Read(std::span<const uint64_t> indexes,
                              size_t bytes_max, Scratch& scratch,
                              RecordBlock& out) const override {
    if (makes_image_) {
      FM_RETURN_IF_ERROR(
          files_->Read(indexes, bytes_max, scratch, out).status());
    } else {
      out.error = absl::OkStatus();
      out.rows = indexes.size();
      out.columns.clear();
    }
    if (rows_ == nullptr || out.rows == 0) return out.rows;
    ChunkBuilder rows(rows_->spec, out.blocks());
    for (const uint64_t index : indexes.first(out.rows)) {
      const auto row = static_cast<size_t>(index);
      for (size_t c = 0; c < rows_->columns.size(); ++c) {
        rows.AppendRows(c, rows_->columns[c], row, row + 1);
      }
      rows.FinishRows(1);
    }
    for (Column& column : std::move(rows).Finish().columns) {
      out.columns.emplace_back().Show(std::move(column),
                                      EncodedColumn::Memory::kShared);
    }
    return out.rows;
  }

  size_t records_ahead() const override {
    return makes_image_ ? files_->records_ahead() : 0;
  }
  void PrefetchRecords(std::span<const uint64_t> indexes) const override {
    files_->PrefetchRecords(indexes);
  }
  std::string Describe(uint64_t index, uint64_t row) const override {
    return files_->Describe(index, row);
  }

 private:
  const std::unique_ptr<const RecordSource> files_;
  const std::shared_ptr<const Chunk> rows_;
  const bool makes_image_;
};

struct ImageTableFormat {
  using Options = ImageTableSource;
  static constexpr std::string_view kName = "image_table";
  static constexpr Description kDescription = {
      .summary =
          "Reads the images that a column of a table names, in its order, each "
          "with the columns of its row.",
      .yaml = R"(image_table: {table: train.csv, column: path})",
      .element = "`image` bytes, then the columns of the table",
      .details =
          "A path is relative to the folder of the table. `table` is a name "
          "that says the kind of its files, or a source. Workers keep the "
          "columns in memory, at most 1 GiB.",
      .errors =
          "Raises InvalidArgumentError if the column is missing. Reading "
          "raises NotFoundError if an image is missing.",
      .example = R"(
>>> rows = [{"path": "photos/cat/0.jpg", "caption": "a cat"}]
>>> photos = fm.Dataset.image_table(fm.Dataset.from_list(rows))
>>> next(photos.decode_image().read())["caption"]
'a cat'
)"};

  static FieldList Fields(ImageTableSource& s) {
    return {
        {"table", InputPipelines{&s.table, true}, Field::kRequired,
         "Rows with names of images."},
        {"column", &s.column, Field::kOptional, "The column with the names."}};
  }
  static SourceProperties Properties(const ImageTableSource&) {
    return {.record_per_file = true, .heavy_component = "image"};
  }
  static std::string Describe(const ImageTableSource& s) {
    return fmt::format("images of {} in {}", s.column, TableText(s.table));
  }
  static absl::StatusOr<ElementSpec> Output(const ImageTableSource& s,
                                            std::span<const ElementSpec>) {
    FM_ASSIGN_OR_RETURN(const ElementSpec table, TableSpec(s.table));
    const int found = table.Find(s.column);
    if (found < 0) {
      return InvalidArgument("{} has no column \"{}\"; its columns are {}",
                             TableText(s.table), s.column, table.ToString());
    }
    const ComponentSpec& path = table.components[static_cast<size_t>(found)];
    if (path.dtype != DType::kBytes || !path.shape.empty()) {
      return InvalidArgument("the column \"{}\" of {} is {}{}, not a name",
                             s.column, TableText(s.table),
                             DTypeName(path.dtype), ShapeToString(path.shape));
    }
    ElementSpec out{{{"image", DType::kBytes, {}}}};
    out.components.insert(out.components.end(), table.components.begin(),
                          table.components.end());
    return out;
  }
  static absl::StatusOr<std::unique_ptr<const RecordSource>> MakeRecords(
      const ImageTableSource& s, std::shared_ptr<const Manifest> manifest,
      const std::vector<bool>& live) {
    FM_ASSIGN_OR_RETURN(const ElementSpec table, TableSpec(s.table));
    std::vector<bool> columns(table.components.size(), true);
    if (!live.empty()) columns.assign(live.begin() + 1, live.end());
    std::shared_ptr<const Chunk> rows;
    if (std::ranges::count(columns, true) > 0) {
      if (manifest->tables.empty()) {
        return DataLoss("the manifest lacks {}", TableText(s.table));
      }
      FM_ASSIGN_OR_RETURN(rows, RowsOf(s, manifest->tables[0], columns));
      if (rows->rows != manifest->files.size()) {
        return DataLoss("{}: the manifest has {} files for {} rows",
                        TableText(s.table), manifest->files.size(), rows->rows);
      }
    }
    return std::make_unique<ImageTable>(std::move(manifest), std::move(rows),
                                        live.empty() || live[0]);
  }
};

}  // namespace

const SourceKind& ImageTableKind() { return FileKindOf<ImageTableFormat>(); }

}  // namespace feedmill
