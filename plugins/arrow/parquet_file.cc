#include "plugins/arrow/parquet_file.h"

#include <arrow/chunked_array.h>
#include <arrow/table.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/io/file_errors.h"
#include "core/sources/record_decoder.h"
#include "plugins/arrow/arrow_status.h"
#include "plugins/arrow/bounded_pool.h"
#include "plugins/arrow/column_types.h"
#include "plugins/arrow/column_values.h"
#include "plugins/arrow/file_adapter.h"
#include "plugins/arrow/other_format.h"
#include "plugins/arrow/parquet_head.h"
#include "plugins/arrow/parquet_statistics.h"

namespace feedmill {
namespace {

using Reader = std::unique_ptr<parquet::arrow::FileReader>;

parquet::ReaderProperties PagesWithChecksums() {
  parquet::ReaderProperties properties(BoundedPool());
  // Pages without a checksum are accepted.
  properties.set_page_checksum_verification(true);
  return properties;
}

// Footers of objects in stores. A read needs the same footer several times: to
// find out types, to count rows and to read them. Keeps the footers used last.
class KnownFooters {
 public:
  using Footer = std::shared_ptr<parquet::FileMetaData>;

  // Returns null if the footer is not known.
  Footer Find(const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(
        kept_, key, [](const Kept& kept) { return kept.first; });
    if (found == kept_.end()) return nullptr;
    kept_.splice(kept_.begin(), kept_, found);
    return found->second;
  }
  void Add(const std::string& key, const Footer& footer) {
    const std::lock_guard lock(mutex_);
    kept_.emplace_front(key, footer);
    bytes_ += footer->size();
    for (; bytes_ > kBytesMax && kept_.size() > 1; kept_.pop_back()) {
      bytes_ -= kept_.back().second->size();
    }
  }

  // Returns the key of a file's version; "" if its identity does not prove
  // equal bytes, or if its footer is read without a round trip.
  static std::string KeyOf(const RandomAccessFile& file) {
    const auto identity = file.Identity();
    if (!identity.ok() || identity->etag.empty() || KnowsSizeOnly(*identity)) {
      return "";
    }
    return fmt::format("{} {} {}", identity->etag, identity->size, file.name());
  }

 private:
  using Kept = std::pair<std::string, Footer>;
  // Bytes in the files. In memory, footers take several times as many.
  static constexpr int64_t kBytesMax = int64_t{4} << 20;

  std::mutex mutex_;
  std::list<Kept> kept_;  // guarded by mutex_; most recently used first
  int64_t bytes_ = 0;     // guarded by mutex_
};

KnownFooters& FootersOfProcess() {
  static KnownFooters footers;
  return footers;
}

// Bytes at the end of a file that are read first. Larger files have larger
// footers.
size_t FooterBytes(uint64_t file_size) {
  constexpr uint64_t kLeast = uint64_t{64} << 10;
  constexpr uint64_t kMost = uint64_t{1} << 20;
  return std::clamp(file_size >> 15, kLeast, kMost);
}

// A column and its Parquet leaf columns.
struct ParquetColumn {
  const FlatColumn* column;
  std::vector<int> leaves;
};

class ParquetFile final : public ColumnarFile {
 public:
  ParquetFile(std::shared_ptr<const RandomAccessFile> file, uint64_t size)
      : file_(std::move(file)), size_(size) {}

  absl::Status Open();

  const std::vector<ColumnarColumn>& columns() const override {
    return columns_;
  }
  const std::vector<uint64_t>& group_rows() const override {
    return group_rows_;
  }
  absl::StatusOr<std::vector<DecodedColumn>> ReadGroup(
      size_t group, std::span<const ColumnarColumn> wanted,
      uint64_t rows) const override;
  std::vector<ColumnStatistics> StatisticsOf(
      size_t group, std::span<const ColumnarColumn> wanted) const override;
  std::vector<bool> HaveNulls(
      std::span<const ColumnarColumn> wanted) const override;

 private:
  absl::Status ReadFooter();
  absl::Status CountRows();
  absl::StatusOr<std::vector<ParquetColumn>> Find(
      std::span<const ColumnarColumn> wanted,
      const parquet::arrow::SchemaManifest& manifest) const;
  void Announce(size_t group, const std::vector<int>& leaves,
                const std::optional<ParquetHead>& head,
                FileAdapter& file) const;
  bool HasInt96() const;
  bool HasInt96(const ParquetColumn& column) const;
  absl::Status MakeInt96Exact(
      size_t group, const ParquetColumn& column,
      const std::shared_ptr<FileAdapter>& file,
      std::shared_ptr<arrow::ChunkedArray>& values) const;
  absl::StatusOr<std::shared_ptr<arrow::Table>> ReadTable(
      size_t group, const ParquetColumn& column, uint64_t rows,
      const std::optional<ParquetHead>& head,
      const std::shared_ptr<FileAdapter>& file,
      parquet::arrow::FileReader& reader) const;
  absl::StatusOr<DecodedColumn> DecodeTable(
      size_t group, const ParquetColumn& column, const ColumnarColumn& wanted,
      uint64_t rows, const std::shared_ptr<FileAdapter>& file,
      const arrow::Table& table) const;

  const std::shared_ptr<const RandomAccessFile> file_;
  const uint64_t size_;
  std::shared_ptr<parquet::FileMetaData> metadata_;
  std::vector<FlatColumn> flat_;
  std::vector<ColumnarColumn> columns_;
  std::vector<uint64_t> group_rows_;
};

parquet::ArrowReaderProperties OneThread(
    arrow::TimeUnit::type int96 = arrow::TimeUnit::NANO) {
  parquet::ArrowReaderProperties properties;
  properties.set_use_threads(false);
  properties.set_pre_buffer(false);
  properties.set_coerce_int96_timestamp_unit(int96);
  return properties;
}

// Makes a reader for each call: Arrow's readers are not thread-safe. `int96`:
// the unit of times of INT96.
absl::StatusOr<Reader> MakeReader(
    const std::shared_ptr<FileAdapter>& file,
    const std::shared_ptr<parquet::FileMetaData>& metadata,
    arrow::TimeUnit::type int96 = arrow::TimeUnit::NANO,
    const parquet::ReaderProperties& reading = PagesWithChecksums()) {
  parquet::arrow::FileReaderBuilder builder;
  FM_RETURN_IF_ARROW(builder.Open(file, reading, metadata));
  builder.properties(OneThread(int96))->memory_pool(BoundedPool());
  Reader reader;
  FM_RETURN_IF_ARROW(builder.Build(&reader));
  return reader;
}

absl::Status ParquetFile::ReadFooter() {
  const auto adapter = std::make_shared<FileAdapter>(file_, size_);
  const absl::Status read = WithoutExceptions([&]() -> absl::Status {
    const std::string key = KnownFooters::KeyOf(*file_);
    if (!key.empty()) metadata_ = FootersOfProcess().Find(key);
    const bool known = metadata_ != nullptr;
    parquet::ReaderProperties reading = PagesWithChecksums();
    reading.set_footer_read_size(FooterBytes(size_));
    FM_ASSIGN_OR_RETURN(
        const Reader reader,
        MakeReader(adapter, metadata_, arrow::TimeUnit::NANO, reading));
    metadata_ = reader->parquet_reader()->metadata();
    if (!key.empty() && !known) FootersOfProcess().Add(key, metadata_);
    std::shared_ptr<arrow::Schema> schema;
    FM_RETURN_IF_ARROW(reader->GetSchema(&schema));
    flat_ = FlattenSchema(*schema);
    return CountRows();
  });
  return adapter->ErrorOr(read);
}

// Returns the number of values of the first non-list column in a row group;
// `rows` if all columns are lists.
int64_t ValuesOfGroup(const parquet::FileMetaData& metadata, int group,
                      int64_t rows) {
  for (int leaf = 0; leaf < metadata.num_columns(); ++leaf) {
    if (metadata.schema()->Column(leaf)->max_repetition_level() > 0) continue;
    return metadata.RowGroup(group)->ColumnChunk(leaf)->num_values();
  }
  return rows;
}

absl::Status ParquetFile::CountRows() {
  int64_t total = 0;
  for (int group = 0; group < metadata_->num_row_groups(); ++group) {
    const int64_t rows = metadata_->RowGroup(group)->num_rows();
    if (rows < 0 || __builtin_add_overflow(total, rows, &total)) {
      return DataLoss("row group {} has {} rows", group, rows);
    }
    // A damaged number would otherwise become positions.
    const int64_t values = ValuesOfGroup(*metadata_, group, rows);
    if (values != rows) {
      return DataLoss("row group {} has {} rows, but a column of {} values",
                      group, rows, values);
    }
    group_rows_.push_back(static_cast<uint64_t>(rows));
  }
  if (total == metadata_->num_rows()) return absl::OkStatus();
  return DataLoss("{} rows in its row groups, where it says {}", total,
                  metadata_->num_rows());
}

// True for Arrow's errors for a file of which a part is encrypted.
bool IsEncrypted(const absl::Status& status) {
  const std::string text = ErrorText(status);
  return absl::IsDataLoss(status) &&
         (text.find("decrypt") != std::string::npos ||
          text.find("encrypted") != std::string::npos);
}

absl::Status ParquetFile::Open() {
  const absl::Status read = ReadFooter();
  // Only if there is no footer: another read of a store takes a round trip.
  if (!read.ok()) {
    FM_RETURN_IF_ERROR(RefuseOtherFormat(*file_, "ARROW1", "arrow"));
  }
  if (IsEncrypted(read)) {
    return InvalidArgument(
        "it is encrypted, and only Parquet files without encryption can be "
        "read; write it without encryption properties");
  }
  FM_RETURN_IF_ERROR(CallDamaged(read, "its Parquet footer is damaged"));
  for (const FlatColumn& column : flat_) columns_.push_back(column.column);
  return absl::OkStatus();
}

void AddLeaves(const parquet::arrow::SchemaField& field,
               std::vector<int>& leaves) {
  if (field.is_leaf()) leaves.push_back(field.column_index);
  for (const auto& child : field.children) AddLeaves(child, leaves);
}

absl::StatusOr<std::vector<ParquetColumn>> ParquetFile::Find(
    std::span<const ColumnarColumn> wanted,
    const parquet::arrow::SchemaManifest& manifest) const {
  std::vector<ParquetColumn> found;
  for (const ColumnarColumn& one : wanted) {
    FM_ASSIGN_OR_RETURN(const FlatColumn* const column,
                        FindColumn(flat_, one.field));
    const parquet::arrow::SchemaField* at =
        &manifest.schema_fields[static_cast<size_t>(column->path[0])];
    for (size_t k = 1; k < column->path.size(); ++k) {
      at = &at->children[static_cast<size_t>(column->path[k])];
    }
    if (!column->in_items.empty()) at = &at->children[0];  // of the list
    for (const int child : column->in_items) {
      at = &at->children[static_cast<size_t>(child)];
    }
    ParquetColumn& added = found.emplace_back(ParquetColumn{column, {}});
    AddLeaves(*at, added.leaves);
  }
  return found;
}

// Announces the bytes of all columns, so that a store runs many requests in
// parallel.
void ParquetFile::Announce(size_t group, const std::vector<int>& leaves,
                           const std::optional<ParquetHead>& head,
                           FileAdapter& file) const {
  // Announcements are only hints: the results do not matter.
  if (head) {
    // Each range alone: beyond ranges that run through a file in order, a store
    // reads ahead.
    for (const arrow::io::ReadRange& range : head->Ranges()) {
      (void)file.WillNeed({range});
    }
    return;
  }
  std::vector<arrow::io::ReadRange> ranges;
  const auto metadata = metadata_->RowGroup(static_cast<int>(group));
  for (const int leaf : leaves) {
    const auto chunk = metadata->ColumnChunk(leaf);
    int64_t begin = chunk->data_page_offset();
    if (chunk->has_dictionary_page()) {
      begin = std::min(begin, chunk->dictionary_page_offset());
    }
    ranges.push_back({begin, chunk->total_compressed_size()});
  }
  (void)file.WillNeed(ranges);
}

// Reads some leaf columns of a row group. Arrow makes no nested array of texts
// of more than 2 GiB, so these are read in parts of fewer and fewer rows.
arrow::Result<std::shared_ptr<arrow::Table>> ReadLeaves(
    int group, int64_t rows, const std::vector<int>& leaves,
    parquet::arrow::FileReader& reader) {
  auto whole = reader.ReadRowGroup(group, leaves);
  while (whole.status().IsNotImplemented() && rows > 1) {
    rows = rows / 2;
    reader.set_batch_size(rows);
    ARROW_ASSIGN_OR_RAISE(const auto parts,
                          reader.GetRecordBatchReader({group}, leaves));
    whole = parts->ToTable();
  }
  return whole;
}

// True if any column has times of INT96.
bool ParquetFile::HasInt96() const {
  for (int leaf = 0; leaf < metadata_->num_columns(); ++leaf) {
    if (metadata_->schema()->Column(leaf)->physical_type() ==
        parquet::Type::INT96) {
      return true;
    }
  }
  return false;
}

bool ParquetFile::HasInt96(const ParquetColumn& column) const {
  return std::ranges::any_of(column.leaves, [&](int leaf) {
    return metadata_->schema()->Column(leaf)->physical_type() ==
           parquet::Type::INT96;
  });
}

// Makes the times of INT96 exact in a column that was read in nanoseconds.
absl::Status ParquetFile::MakeInt96Exact(
    size_t group, const ParquetColumn& column,
    const std::shared_ptr<FileAdapter>& file,
    std::shared_ptr<arrow::ChunkedArray>& values) const {
  FM_ASSIGN_OR_RETURN(const Reader reader,
                      MakeReader(file, metadata_, arrow::TimeUnit::SECOND));
  FM_ASSIGN_OR_RETURN_ARROW(
      const std::shared_ptr<arrow::Table> seconds,
      reader->ReadRowGroup(static_cast<int>(group), column.leaves));
  const auto& again = *seconds->column(0);
  if (again.num_chunks() != values->num_chunks()) {
    return DataLoss("its times of INT96 changed");
  }
  arrow::ArrayVector exact;
  for (int k = 0; k < again.num_chunks(); ++k) {
    FM_ASSIGN_OR_RETURN_ARROW(exact.emplace_back(),
                              ExactInt96(values->chunk(k), again.chunk(k)));
  }
  if (exact == values->chunks()) return absl::OkStatus();
  if (BecomesJson(column.column->type)) {
    return DataLoss(
        "it has a time of INT96 that int64 does not hold in nanoseconds "
        "(before "
        "1677 or after 2262); leave it out with `columns`");
  }
  values = std::make_shared<arrow::ChunkedArray>(std::move(exact));
  return absl::OkStatus();
}

// Reads the first rows of some leaf columns.
arrow::Result<std::shared_ptr<arrow::Table>> ReadFirst(
    int group, int64_t rows, const std::vector<int>& leaves,
    parquet::arrow::FileReader& reader) {
  reader.set_batch_size(rows);
  ARROW_ASSIGN_OR_RAISE(const auto parts,
                        reader.GetRecordBatchReader({group}, leaves));
  ARROW_ASSIGN_OR_RAISE(const auto first, parts->Next());
  arrow::RecordBatchVector batches;
  if (first != nullptr) batches.push_back(first);
  return arrow::Table::FromRecordBatches(parts->schema(), batches);
}

// Reads one column alone. `head`: only its first rows are wanted.
absl::StatusOr<std::shared_ptr<arrow::Table>> ParquetFile::ReadTable(
    size_t group, const ParquetColumn& column, uint64_t rows,
    const std::optional<ParquetHead>& head,
    const std::shared_ptr<FileAdapter>& file,
    parquet::arrow::FileReader& reader) const {
  const auto count = static_cast<int64_t>(rows);
  const auto number = static_cast<int>(group);
  if (head && std::ranges::all_of(column.leaves, [&](int leaf) {
        return head->HasBeginning(leaf);
      })) {
    const auto table = WithoutExceptions(
        [&]() -> absl::StatusOr<std::shared_ptr<arrow::Table>> {
          FM_ASSIGN_OR_RETURN(const Reader beginnings,
                              head->MakeReader(file, OneThread()));
          FM_ASSIGN_OR_RETURN_ARROW(
              auto first, ReadFirst(number, count, column.leaves, *beginnings));
          return first;
        });
    if (table.ok() && (*table)->num_rows() == count) return table;
  }
  FM_ASSIGN_OR_RETURN_ARROW(
      auto table,
      (head ? ReadFirst : ReadLeaves)(number, count, column.leaves, reader));
  return table;
}

// Converts the table of one column. Arrow prunes its structs to the member that
// is read, so the member is child 0.
absl::StatusOr<DecodedColumn> ParquetFile::DecodeTable(
    size_t group, const ParquetColumn& column, const ColumnarColumn& wanted,
    uint64_t rows, const std::shared_ptr<FileAdapter>& file,
    const arrow::Table& table) const {
  if (table.num_columns() != 1 || std::cmp_not_equal(table.num_rows(), rows)) {
    return DataLoss("it has {} rows, where the row group has {}",
                    table.num_rows(), group_rows_[group]);
  }
  const MemberPath path{std::vector<int>(column.column->path.size() - 1, 0),
                        std::vector<int>(column.column->in_items.size(), 0)};
  std::shared_ptr<arrow::ChunkedArray> values = table.column(0);
  if (HasInt96(column)) {
    FM_RETURN_IF_ERROR(MakeInt96Exact(group, column, file, values));
  }
  return DecodeChunks(*values, path, wanted);
}

absl::StatusOr<std::vector<DecodedColumn>> ParquetFile::ReadGroup(
    size_t group, std::span<const ColumnarColumn> wanted, uint64_t rows) const {
  const auto adapter = std::make_shared<FileAdapter>(file_, size_);
  std::vector<DecodedColumn> out;
  const absl::Status read = WithoutExceptions([&]() -> absl::Status {
    parquet::ReaderProperties reading = PagesWithChecksums();
    // Times of INT96 are read twice, and whole.
    const bool some = rows < group_rows_[group] && !HasInt96();
    if (some) {
      reading.enable_buffered_stream();
    } else {
      rows = group_rows_[group];
    }
    FM_ASSIGN_OR_RETURN(
        const Reader reader,
        MakeReader(adapter, metadata_, arrow::TimeUnit::NANO, reading));
    FM_ASSIGN_OR_RETURN(const std::vector<ParquetColumn> columns,
                        Find(wanted, reader->manifest()));
    std::vector<int> leaves;
    for (const ParquetColumn& column : columns) {
      leaves.insert(leaves.end(), column.leaves.begin(), column.leaves.end());
    }
    std::optional<ParquetHead> head;
    if (some) {
      head.emplace(metadata_, static_cast<int>(group), leaves,
                   static_cast<int64_t>(rows));
    }
    Announce(group, leaves, head, *adapter);
    for (size_t c = 0; c < columns.size(); ++c) {
      auto decoded = WithoutExceptions([&]() -> absl::StatusOr<DecodedColumn> {
        FM_ASSIGN_OR_RETURN(
            const std::shared_ptr<arrow::Table> table,
            ReadTable(group, columns[c], rows, head, adapter, *reader));
        return DecodeTable(group, columns[c], wanted[c], rows, adapter, *table);
      });
      if (!decoded.ok()) {
        return Annotate(
            decoded.status(),
            fmt::format("the column \"{}\"", Shown(wanted[c].field.name)));
      }
      out.push_back(*std::move(decoded));
    }
    return absl::OkStatus();
  });
  FM_RETURN_IF_ERROR(adapter->ErrorOr(read));
  return out;
}

std::vector<bool> ParquetFile::HaveNulls(
    std::span<const ColumnarColumn> wanted) const {
  std::vector<bool> out(wanted.size());
  const absl::Status found = WithoutExceptions([&]() -> absl::Status {
    FM_ASSIGN_OR_RETURN(
        const Reader reader,
        MakeReader(std::make_shared<FileAdapter>(file_, size_), metadata_));
    FM_ASSIGN_OR_RETURN(const std::vector<ParquetColumn> columns,
                        Find(wanted, reader->manifest()));
    for (int group = 0; group < metadata_->num_row_groups(); ++group) {
      const auto chunks = metadata_->RowGroup(group);
      for (size_t c = 0; c < columns.size(); ++c) {
        if (out[c] || columns[c].leaves.size() != 1) continue;
        out[c] = CountsNull(*chunks->ColumnChunk(columns[c].leaves[0]));
      }
    }
    return absl::OkStatus();
  });
  // Reading the file tells what is wrong.
  return found.ok() ? out : std::vector<bool>(wanted.size());
}

std::vector<ColumnStatistics> ParquetFile::StatisticsOf(
    size_t group, std::span<const ColumnarColumn> wanted) const {
  std::vector<ColumnStatistics> out;
  const absl::Status found = WithoutExceptions([&]() -> absl::Status {
    FM_ASSIGN_OR_RETURN(
        const Reader reader,
        MakeReader(std::make_shared<FileAdapter>(file_, size_), metadata_));
    FM_ASSIGN_OR_RETURN(const std::vector<ParquetColumn> columns,
                        Find(wanted, reader->manifest()));
    const auto chunks = metadata_->RowGroup(static_cast<int>(group));
    for (size_t c = 0; c < columns.size(); ++c) {
      const ColumnarColumn& column = columns[c].column->column;
      const SourceField& field = wanted[c].field;
      const bool converted = column.field.dtype != field.dtype ||
                             column.field.shape != field.shape ||
                             column.times != wanted[c].times;
      out.emplace_back();
      if (field.shape.empty() && BecomesJson(columns[c].column->type)) {
        // A null is an empty text.
        out.back().faultless = !converted && !HasInt96(columns[c]);
        continue;
      }
      if (converted || columns[c].leaves.size() != 1) continue;
      out.back() =
          StatisticsOfChunk(*chunks->ColumnChunk(columns[c].leaves[0]),
                            *metadata_->schema()->Column(columns[c].leaves[0]),
                            *columns[c].column->type, field);
    }
    return absl::OkStatus();
  });
  // Damaged statistics say nothing; reading the group tells what is wrong.
  if (!found.ok()) return std::vector<ColumnStatistics>(wanted.size());
  return out;
}

}  // namespace

absl::StatusOr<std::unique_ptr<const ColumnarFile>> OpenParquetFile(
    std::shared_ptr<const RandomAccessFile> file, uint64_t size) {
  auto opened = std::make_unique<ParquetFile>(std::move(file), size);
  FM_RETURN_IF_ERROR(opened->Open());
  return std::unique_ptr<const ColumnarFile>(std::move(opened));
}

}  // namespace feedmill
