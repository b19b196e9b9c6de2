#include "plugins/arrow/ipc_file.h"

#include <arrow/ipc/options.h>
#include <arrow/ipc/reader.h>
#include <arrow/record_batch.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <span>
#include <string_view>
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
#include "plugins/arrow/ipc_messages.h"
#include "plugins/arrow/other_format.h"

namespace feedmill {
namespace {

constexpr std::string_view kFileMagic = "ARROW1";

// Indices of the schema's fields that a read needs, sorted; empty: all.
using ChosenFields = std::vector<int>;

arrow::ipc::IpcReadOptions OptionsFor(const ChosenFields& chosen) {
  auto options = arrow::ipc::IpcReadOptions::Defaults();
  options.memory_pool = BoundedPool();
  options.included_fields = chosen;
  options.use_threads = false;
  options.ensure_alignment = arrow::ipc::Alignment::kDataTypeSpecificAlignment;
  return options;
}

// A reader of a file with a footer, for one thread.
struct FooterReader {
  std::shared_ptr<FileAdapter> file;
  std::shared_ptr<arrow::ipc::RecordBatchFileReader> reader;
};

class IpcFile final : public ColumnarFile {
 public:
  IpcFile(std::shared_ptr<const RandomAccessFile> file, uint64_t size)
      : file_(std::move(file)), size_(size) {}

  absl::Status Open();

  const std::vector<ColumnarColumn>& columns() const override {
    return columns_;
  }
  const std::vector<uint64_t>& group_rows() const override {
    return group_rows_;
  }
  absl::StatusOr<std::vector<DecodedColumn>> ReadGroup(
      size_t group, std::span<const SourceField> fields) const override;

 private:
  using Batch = std::shared_ptr<arrow::RecordBatch>;

  absl::Status ReadSchema();
  absl::StatusOr<FooterReader> TakeReader(const ChosenFields& chosen) const;
  void GiveBack(const ChosenFields& chosen, FooterReader reader) const;
  absl::StatusOr<Batch> ReadBatch(size_t group,
                                  const ChosenFields& chosen) const;
  absl::StatusOr<Batch> ReadBatchOfFile(size_t group,
                                        const ChosenFields& chosen) const;
  absl::StatusOr<Batch> ReadBatchOfStream(size_t group,
                                          const ChosenFields& chosen) const;

  const std::shared_ptr<const RandomAccessFile> file_;
  const uint64_t size_;
  bool has_footer_ = false;
  // all of a stream; record batches of a file
  std::vector<IpcMessage> messages_;
  std::vector<size_t> batches_;  // indices of the record batches, by group
  std::vector<FlatColumn> flat_;
  std::vector<ColumnarColumn> columns_;
  int schema_fields_ = 0;
  std::vector<uint64_t> group_rows_;

  mutable std::mutex mutex_;
  // Readers that no thread uses at present.
  mutable std::map<ChosenFields, std::vector<FooterReader>> idle_;
};

absl::Status IpcFile::ReadSchema() {
  const auto adapter = std::make_shared<FileAdapter>(file_, size_);
  const absl::Status read = WithoutExceptions([&]() -> absl::Status {
    char magic[kFileMagic.size()];
    FM_ASSIGN_OR_RETURN_ARROW(const int64_t got,
                              adapter->ReadAt(0, sizeof(magic), magic));
    has_footer_ =
        std::string_view(magic, static_cast<size_t>(got)) == kFileMagic;
    std::shared_ptr<arrow::Schema> schema;
    if (has_footer_) {
      FM_ASSIGN_OR_RETURN(const FooterReader reader, TakeReader({}));
      schema = reader.reader->schema();
      FM_ASSIGN_OR_RETURN(messages_, ListBatches(*adapter));
    } else {
      FM_ASSIGN_OR_RETURN(messages_, ScanStream(*adapter));
      const auto stream = std::make_shared<SplicedStream>(
          adapter, std::vector<IpcMessage>{messages_[0]});
      FM_ASSIGN_OR_RETURN_ARROW(
          const auto reader,
          arrow::ipc::RecordBatchStreamReader::Open(stream, OptionsFor({})));
      schema = reader->schema();
    }
    schema_fields_ = schema->num_fields();
    flat_ = FlattenSchema(*schema);
    return absl::OkStatus();
  });
  return adapter->ErrorOr(read);
}

absl::Status IpcFile::Open() {
  FM_RETURN_IF_ERROR(RefuseOtherFormat(*file_, "PAR1", "parquet"));
  FM_RETURN_IF_ERROR(RefuseFormat(
      *file_, "FEA1",
      "it is a Feather file of version 1; write it as version 2, which is "
      "Arrow IPC (pyarrow.feather.write_feather does)"));
  FM_RETURN_IF_ERROR(
      CallDamaged(ReadSchema(), has_footer_ ? "it is a damaged Arrow file"
                                            : "it is no sound Arrow stream"));
  for (size_t m = 0; m < messages_.size(); ++m) {
    if (messages_[m].type != IpcMessage::Type::kRecordBatch) continue;
    batches_.push_back(m);
    group_rows_.push_back(messages_[m].rows);
  }
  for (const FlatColumn& column : flat_) columns_.push_back(column.column);
  return absl::OkStatus();
}

absl::StatusOr<FooterReader> IpcFile::TakeReader(
    const ChosenFields& chosen) const {
  {
    const std::lock_guard lock(mutex_);
    const auto found = idle_.find(chosen);
    if (found != idle_.end() && !found->second.empty()) {
      FooterReader reader = std::move(found->second.back());
      found->second.pop_back();
      return reader;
    }
  }
  FooterReader opened{std::make_shared<FileAdapter>(file_, size_), nullptr};
  auto reader =
      arrow::ipc::RecordBatchFileReader::Open(opened.file, OptionsFor(chosen));
  if (!reader.ok()) return opened.file->ErrorOr(StatusOfArrow(reader.status()));
  opened.reader = *std::move(reader);
  return opened;
}

void IpcFile::GiveBack(const ChosenFields& chosen, FooterReader reader) const {
  const std::lock_guard lock(mutex_);
  idle_[chosen].push_back(std::move(reader));
}

absl::StatusOr<IpcFile::Batch> IpcFile::ReadBatchOfFile(
    size_t group, const ChosenFields& chosen) const {
  FM_ASSIGN_OR_RETURN(FooterReader reader, TakeReader(chosen));
  // Only a read of all columns is announced: the footer does not give the
  // ranges of single columns.
  if (chosen.empty()) {
    const IpcMessage& message = messages_[batches_[group]];
    FM_RETURN_IF_ARROW(reader.file->WillNeed(
        {{message.offset, message.end() - message.offset}}));
  }
  auto batch = reader.reader->ReadRecordBatch(static_cast<int>(group));
  if (!batch.ok()) return reader.file->ErrorOr(StatusOfArrow(batch.status()));
  GiveBack(chosen, std::move(reader));
  return *std::move(batch);
}

// Reads a stream spliced from the schema, the dictionaries before the batch,
// and the batch.
absl::StatusOr<IpcFile::Batch> IpcFile::ReadBatchOfStream(
    size_t group, const ChosenFields& chosen) const {
  const auto adapter = std::make_shared<FileAdapter>(file_, size_);
  std::vector<IpcMessage> spliced;
  for (size_t m = 0; m < batches_[group]; ++m) {
    if (messages_[m].type != IpcMessage::Type::kRecordBatch) {
      spliced.push_back(messages_[m]);
    }
  }
  spliced.push_back(messages_[batches_[group]]);
  std::vector<arrow::io::ReadRange> ranges;
  for (const IpcMessage& message : spliced) {
    ranges.push_back({message.offset, message.end() - message.offset});
  }
  FM_RETURN_IF_ARROW(adapter->WillNeed(ranges));
  const auto read = [&]() -> arrow::Result<Batch> {
    ARROW_ASSIGN_OR_RAISE(
        const auto reader,
        arrow::ipc::RecordBatchStreamReader::Open(
            std::make_shared<SplicedStream>(adapter, std::move(spliced)),
            OptionsFor(chosen)));
    Batch batch;
    ARROW_RETURN_NOT_OK(reader->ReadNext(&batch));
    if (batch == nullptr) return arrow::Status::Invalid("it is not there");
    return batch;
  };
  auto batch = read();
  if (!batch.ok()) return adapter->ErrorOr(StatusOfArrow(batch.status()));
  return *std::move(batch);
}

absl::StatusOr<IpcFile::Batch> IpcFile::ReadBatch(
    size_t group, const ChosenFields& chosen) const {
  FM_ASSIGN_OR_RETURN(Batch batch, has_footer_
                                       ? ReadBatchOfFile(group, chosen)
                                       : ReadBatchOfStream(group, chosen));
  if (std::cmp_not_equal(batch->num_rows(), group_rows_[group])) {
    return DataLoss("it has {} rows, where its metadata says {}",
                    batch->num_rows(), group_rows_[group]);
  }
  return batch;
}

absl::StatusOr<std::vector<DecodedColumn>> IpcFile::ReadGroup(
    size_t group, std::span<const SourceField> fields) const {
  std::vector<const FlatColumn*> found;
  ChosenFields chosen;
  for (const SourceField& field : fields) {
    FM_ASSIGN_OR_RETURN(found.emplace_back(), FindColumn(flat_, field));
    chosen.push_back(found.back()->path[0]);
  }
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  const bool all = std::cmp_equal(chosen.size(), schema_fields_);
  return WithoutExceptions([&]() -> absl::StatusOr<std::vector<DecodedColumn>> {
    FM_ASSIGN_OR_RETURN(const Batch batch,
                        ReadBatch(group, all ? ChosenFields() : chosen));
    std::vector<DecodedColumn> out;
    for (size_t c = 0; c < fields.size(); ++c) {
      const std::vector<int>& path = found[c]->path;
      const auto at = std::lower_bound(chosen.begin(), chosen.end(), path[0]);
      auto decoded = DecodeArray(
          batch->column(static_cast<int>(at - chosen.begin())),
          MemberPath{{path.begin() + 1, path.end()}, found[c]->in_items},
          fields[c]);
      if (!decoded.ok()) {
        return Annotate(decoded.status(), fmt::format("the column \"{}\"",
                                                      Shown(fields[c].name)));
      }
      out.push_back(*std::move(decoded));
    }
    return out;
  });
}

}  // namespace

absl::StatusOr<std::unique_ptr<const ColumnarFile>> OpenIpcFile(
    std::shared_ptr<const RandomAccessFile> file, uint64_t size) {
  auto opened = std::make_unique<IpcFile>(std::move(file), size);
  FM_RETURN_IF_ERROR(opened->Open());
  return std::unique_ptr<const ColumnarFile>(std::move(opened));
}

}  // namespace feedmill
