#include "plugins/arrow/ipc_file.h"

#include <arrow/buffer.h>
#include <arrow/extension_type.h>
#include <arrow/ipc/dictionary.h>
#include <arrow/ipc/message.h>
#include <arrow/ipc/options.h>
#include <arrow/ipc/reader.h>
#include <arrow/record_batch.h>

#include <algorithm>
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

// Indices of the schema's fields to read, sorted; empty: all.
using ChosenFields = std::vector<int>;

arrow::ipc::IpcReadOptions OptionsFor(const ChosenFields& chosen) {
  auto options = arrow::ipc::IpcReadOptions::Defaults();
  options.memory_pool = BoundedPool();
  options.included_fields = chosen;
  options.use_threads = false;
  options.ensure_alignment = arrow::ipc::Alignment::kDataTypeSpecificAlignment;
  return options;
}

// Bytes of a mapped file, which they keep open.
class MappedBytes final : public arrow::Buffer {
 public:
  MappedBytes(std::shared_ptr<const RandomAccessFile> file,
              std::span<const std::byte> bytes)
      : Buffer(reinterpret_cast<const uint8_t*>(bytes.data()),
               static_cast<int64_t>(bytes.size())),
        file_(std::move(file)) {}

 private:
  const std::shared_ptr<const RandomAccessFile> file_;
};

// True if values of the type are in a dictionary.
bool HasDictionary(const arrow::DataType& type) {
  if (type.id() == arrow::Type::EXTENSION) {
    return HasDictionary(
        *static_cast<const arrow::ExtensionType&>(type).storage_type());
  }
  return type.id() == arrow::Type::DICTIONARY ||
         std::ranges::any_of(type.fields(), [](const auto& child) {
           return HasDictionary(*child->type());
         });
}

// The messages of a stream that make the dictionaries of its record batches.
class StreamDictionaries {
 public:
  // Takes the messages one by one, in their order. `index`: of the message.
  void Add(const IpcMessage& message, size_t index);

  // Returns the indices of the messages that make the dictionaries of a record
  // batch, sorted. `group`: the record batch's number.
  std::vector<size_t> Of(size_t group) const;

 private:
  static constexpr size_t kNone = SIZE_MAX;
  struct Part {
    size_t message = 0;
    size_t before = kNone;  // the part that a delta continues
  };
  // The last part of each dictionary, by id.
  using Last = std::map<int64_t, size_t>;

  std::vector<Part> parts_;
  std::vector<Last> states_{1};   // each after a change
  bool used_ = false;             // true: a record batch has the last state
  std::vector<size_t> state_of_;  // by group
};

void StreamDictionaries::Add(const IpcMessage& message, size_t index) {
  if (message.type == IpcMessage::Type::kRecordBatch) {
    state_of_.push_back(states_.size() - 1);
    used_ = true;
    return;
  }
  if (message.type != IpcMessage::Type::kDictionary) return;
  if (used_) states_.push_back(states_.back());
  used_ = false;
  const auto [last, added] = states_.back().emplace(message.dictionary, kNone);
  parts_.push_back({index, message.delta ? last->second : kNone});
  last->second = parts_.size() - 1;
}

std::vector<size_t> StreamDictionaries::Of(size_t group) const {
  std::vector<size_t> messages;
  for (const auto& [id, last] : states_[state_of_[group]]) {
    for (size_t p = last; p != kNone; p = parts_[p].before) {
      messages.push_back(parts_[p].message);
    }
  }
  std::ranges::sort(messages);
  return messages;
}

// A reader of a file with a footer, for one thread.
struct FooterReader {
  std::shared_ptr<FileAdapter> file;
  std::shared_ptr<arrow::ipc::RecordBatchFileReader> reader;
};

// Fields of a read whose columns are read together.
struct FieldSet {
  std::vector<size_t> fields;  // indexes of the read's fields
  ChosenFields chosen;
  bool mapped = false;  // buffers are views of the mapping
};

class IpcFile final : public ColumnarFile {
 public:
  IpcFile(std::shared_ptr<const RandomAccessFile> file, uint64_t size,
          bool memory_map)
      : file_(std::move(file)),
        size_(size),
        mapping_(memory_map ? file_->MapNow() : nullptr) {}

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
  const GuardedMapping* mapping() const override { return mapping_; }

 private:
  using Batch = std::shared_ptr<arrow::RecordBatch>;

  absl::Status ReadSchema();
  absl::StatusOr<FooterReader> TakeReader(const ChosenFields& chosen) const;
  void GiveBack(const ChosenFields& chosen, FooterReader reader) const;
  absl::StatusOr<Batch> ReadBatch(size_t group, const ChosenFields& chosen,
                                  bool mapped) const;
  absl::StatusOr<Batch> ReadBatchOfFile(size_t group,
                                        const ChosenFields& chosen) const;
  absl::StatusOr<Batch> ReadBatchOfStream(size_t group,
                                          const ChosenFields& chosen) const;
  bool NeedsDictionaries(const ChosenFields& chosen) const;
  absl::StatusOr<Batch> ReadBatchAlone(size_t group, const ChosenFields& chosen,
                                       bool mapped) const;
  std::vector<FieldSet> Divide(
      size_t group, const std::vector<const FlatColumn*>& found) const;
  absl::Status DecodeSet(size_t group, const FieldSet& set,
                         const std::vector<const FlatColumn*>& found,
                         std::span<const ColumnarColumn> wanted,
                         std::vector<DecodedColumn>& out) const;
  void MarkMapped(DecodedColumn& column) const;

  const std::shared_ptr<const RandomAccessFile> file_;
  const uint64_t size_;
  const GuardedMapping* const mapping_;  // null: none
  bool has_footer_ = false;
  // all of a stream; record batches of a file
  std::vector<IpcMessage> messages_;
  std::vector<size_t> batches_;      // indices of the record batches, by group
  StreamDictionaries dictionaries_;  // of a stream
  std::vector<FlatColumn> flat_;
  std::vector<ColumnarColumn> columns_;
  std::shared_ptr<arrow::Schema> schema_;
  std::vector<uint64_t> group_rows_;

  mutable std::mutex mutex_;
  // Readers that no thread uses at present.
  mutable std::map<ChosenFields, std::vector<FooterReader>> idle_;
};

absl::Status IpcFile::ReadSchema() {
  const auto adapter = std::make_shared<FileAdapter>(file_, size_);
  auto options = OptionsFor({});
  options.ensure_native_endian = false;  // the schema shall have the file's
  const absl::Status read = WithoutExceptions([&]() -> absl::Status {
    char magic[kFileMagic.size()];
    FM_ASSIGN_OR_RETURN_ARROW(const int64_t got,
                              adapter->ReadAt(0, sizeof(magic), magic));
    has_footer_ =
        std::string_view(magic, static_cast<size_t>(got)) == kFileMagic;
    if (has_footer_) {
      FM_ASSIGN_OR_RETURN_ARROW(
          const auto reader,
          arrow::ipc::RecordBatchFileReader::Open(adapter, options));
      schema_ = reader->schema();
      FM_ASSIGN_OR_RETURN(messages_, ListBatches(*adapter));
    } else {
      FM_ASSIGN_OR_RETURN(messages_, ScanStream(*adapter));
      const auto stream = std::make_shared<SplicedStream>(
          adapter, std::vector<IpcMessage>{messages_[0]});
      FM_ASSIGN_OR_RETURN_ARROW(
          const auto reader,
          arrow::ipc::RecordBatchStreamReader::Open(stream, options));
      schema_ = reader->schema();
    }
    flat_ = FlattenSchema(*schema_);
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
    dictionaries_.Add(messages_[m], m);
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

// Reads a stream spliced from the schema, the dictionaries of the batch, and
// the batch.
absl::StatusOr<IpcFile::Batch> IpcFile::ReadBatchOfStream(
    size_t group, const ChosenFields& chosen) const {
  const auto adapter = std::make_shared<FileAdapter>(file_, size_);
  std::vector<IpcMessage> spliced(1, messages_[0]);
  for (const size_t m : dictionaries_.Of(group)) {
    spliced.push_back(messages_[m]);
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

bool IpcFile::NeedsDictionaries(const ChosenFields& chosen) const {
  if (chosen.empty()) {
    return std::ranges::any_of(schema_->fields(), [](const auto& field) {
      return HasDictionary(*field->type());
    });
  }
  return std::ranges::any_of(chosen, [&](int field) {
    return HasDictionary(*schema_->field(field)->type());
  });
}

// Reads columns without dictionaries. If `mapped`, their buffers are views of
// the mapping. Another process may change the file meanwhile, so only values
// are mapped: the metadata, which Arrow checks before it uses them, are a copy.
absl::StatusOr<IpcFile::Batch> IpcFile::ReadBatchAlone(
    size_t group, const ChosenFields& chosen, bool mapped) const {
  const IpcMessage& message = messages_[batches_[group]];
  const auto adapter = std::make_shared<FileAdapter>(file_, size_);
  const auto read = [&]() -> arrow::Result<Batch> {
    const int64_t begin = message.offset + message.metadata_bytes;
    if (!mapped) {
      ARROW_RETURN_NOT_OK(adapter->WillNeed(
          {{message.offset, message.end() - message.offset}}));
    }
    ARROW_ASSIGN_OR_RAISE(
        auto metadata,
        adapter->ReadAt(message.offset + message.prefix_bytes,
                        message.metadata_bytes - message.prefix_bytes));
    std::shared_ptr<arrow::Buffer> body;
    if (mapped) {
      body = std::make_shared<MappedBytes>(
          file_,
          mapping_->bytes().subspan(static_cast<size_t>(begin),
                                    static_cast<size_t>(message.body_bytes)));
    } else {
      ARROW_ASSIGN_OR_RAISE(body, adapter->ReadAt(begin, message.body_bytes));
      if (body->size() != message.body_bytes) {
        return arrow::Status::Invalid("it is cut short");
      }
    }
    ARROW_ASSIGN_OR_RAISE(
        const auto whole,
        arrow::ipc::Message::Open(std::move(metadata), std::move(body)));
    const arrow::ipc::DictionaryMemo dictionaries;
    return arrow::ipc::ReadRecordBatch(*whole, schema_, &dictionaries,
                                       OptionsFor(chosen));
  };
  auto batch = read();
  if (!batch.ok()) return adapter->ErrorOr(StatusOfArrow(batch.status()));
  return *std::move(batch);
}

absl::StatusOr<IpcFile::Batch> IpcFile::ReadBatch(size_t group,
                                                  const ChosenFields& chosen,
                                                  bool mapped) const {
  const bool alone = mapped || (!has_footer_ && schema_->is_native_endian() &&
                                !NeedsDictionaries(chosen));
  FM_ASSIGN_OR_RETURN(Batch batch, alone ? ReadBatchAlone(group, chosen, mapped)
                                   : has_footer_
                                       ? ReadBatchOfFile(group, chosen)
                                       : ReadBatchOfStream(group, chosen));
  if (std::cmp_not_equal(batch->num_rows(), group_rows_[group])) {
    return DataLoss("it has {} rows, where its metadata says {}",
                    batch->num_rows(), group_rows_[group]);
  }
  return batch;
}

// Divides the fields into those that may be mapped and the others.
std::vector<FieldSet> IpcFile::Divide(
    size_t group, const std::vector<const FlatColumn*>& found) const {
  const IpcMessage& message = messages_[batches_[group]];
  const bool maps =
      mapping_ != nullptr && mapping_->Sound() && !message.compressed &&
      schema_->is_native_endian() &&
      std::cmp_less_equal(message.end(), mapping_->bytes().size());
  FieldSet read;
  FieldSet mapped{.fields = {}, .chosen = {}, .mapped = true};
  for (size_t f = 0; f < found.size(); ++f) {
    const bool map = maps && ViewsAreSafe(*found[f]) &&
                     !HasDictionary(*schema_->field(found[f]->path[0])->type());
    FieldSet& set = map ? mapped : read;
    set.fields.push_back(f);
    set.chosen.push_back(found[f]->path[0]);
  }
  std::vector<FieldSet> sets;
  for (FieldSet* const set : {&read, &mapped}) {
    if (set->fields.empty()) continue;
    std::sort(set->chosen.begin(), set->chosen.end());
    set->chosen.erase(std::unique(set->chosen.begin(), set->chosen.end()),
                      set->chosen.end());
    if (std::cmp_equal(set->chosen.size(), schema_->num_fields())) {
      set->chosen.clear();
    }
    sets.push_back(std::move(*set));
  }
  return sets;
}

// Marks a column whose values are in the mapping. Begins to fetch their pages,
// because the mapping itself reads nothing ahead.
void IpcFile::MarkMapped(DecodedColumn& column) const {
  const Buffer& values = column.column.values;
  const auto begin = reinterpret_cast<uintptr_t>(mapping_->bytes().data());
  const auto at = reinterpret_cast<uintptr_t>(values.data());
  if (values.size() == 0 || at < begin ||
      at - begin >= mapping_->bytes().size()) {
    return;
  }
  column.mapped = true;
  file_->Prefetch({{{at - begin, values.size()}}});
}

absl::Status IpcFile::DecodeSet(size_t group, const FieldSet& set,
                                const std::vector<const FlatColumn*>& found,
                                std::span<const ColumnarColumn> wanted,
                                std::vector<DecodedColumn>& out) const {
  FM_ASSIGN_OR_RETURN(const Batch batch,
                      ReadBatch(group, set.chosen, set.mapped));
  for (const size_t f : set.fields) {
    const std::vector<int>& path = found[f]->path;
    int at = path[0];
    if (!set.chosen.empty()) {
      at = static_cast<int>(std::ranges::lower_bound(set.chosen, path[0]) -
                            set.chosen.begin());
    }
    auto decoded = DecodeArray(
        batch->column(at),
        MemberPath{{path.begin() + 1, path.end()}, found[f]->in_items},
        wanted[f]);
    if (!decoded.ok()) {
      return Annotate(
          decoded.status(),
          fmt::format("the column \"{}\"", Shown(wanted[f].field.name)));
    }
    if (set.mapped) MarkMapped(*decoded);
    out[f] = *std::move(decoded);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<DecodedColumn>> IpcFile::ReadGroup(
    size_t group, std::span<const ColumnarColumn> wanted,
    uint64_t /*rows*/) const {
  std::vector<const FlatColumn*> found;
  for (const ColumnarColumn& column : wanted) {
    FM_ASSIGN_OR_RETURN(found.emplace_back(), FindColumn(flat_, column.field));
  }
  return WithoutExceptions([&]() -> absl::StatusOr<std::vector<DecodedColumn>> {
    std::vector<DecodedColumn> out(wanted.size());
    for (const FieldSet& set : Divide(group, found)) {
      FM_RETURN_IF_ERROR(DecodeSet(group, set, found, wanted, out));
    }
    return out;
  });
}

}  // namespace

absl::StatusOr<std::unique_ptr<const ColumnarFile>> OpenIpcFile(
    std::shared_ptr<const RandomAccessFile> file, uint64_t size,
    bool memory_map) {
  auto opened = std::make_unique<IpcFile>(std::move(file), size, memory_map);
  FM_RETURN_IF_ERROR(opened->Open());
  return std::unique_ptr<const ColumnarFile>(std::move(opened));
}

}  // namespace feedmill
