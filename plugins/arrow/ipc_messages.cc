#include "plugins/arrow/ipc_messages.h"

#include <arrow/ipc/message.h>
#include <flatbuffers/flatbuffers.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "core/base/status.h"
#include "plugins/arrow/arrow_status.h"
#include "plugins/arrow/bounded_pool.h"

namespace feedmill {
namespace {

// Offsets of fields in the tables of Arrow's Message.fbs and File.fbs.
constexpr flatbuffers::voffset_t kRowsOfBatch = 4;
constexpr flatbuffers::voffset_t kNodesOfBatch = 6;
constexpr flatbuffers::voffset_t kCompressionOfBatch = 10;
constexpr flatbuffers::voffset_t kIdOfDictionary = 4;
constexpr flatbuffers::voffset_t kDeltaOfDictionary = 8;
constexpr flatbuffers::voffset_t kBatchesOfFooter = 10;
// The file ends with the footer's length and "ARROW1".
constexpr int64_t kTailBytes = 10;
constexpr int32_t kContinuation = -1;

// An entry of a footer; little-endian, as the whole format.
struct FooterBlock {
  int64_t offset;
  int32_t metadata_bytes;
  int32_t padding;
  int64_t body_bytes;
};
static_assert(sizeof(FooterBlock) == 24);

// Sizes of a column of a record batch; the sizes of its struct members follow.
struct FieldNode {
  int64_t length;
  int64_t null_count;
};
static_assert(sizeof(FieldNode) == 16);

IpcMessage::Type TypeOf(arrow::ipc::MessageType type) {
  switch (type) {
    case arrow::ipc::MessageType::SCHEMA:
      return IpcMessage::Type::kSchema;
    case arrow::ipc::MessageType::DICTIONARY_BATCH:
      return IpcMessage::Type::kDictionary;
    case arrow::ipc::MessageType::RECORD_BATCH:
      return IpcMessage::Type::kRecordBatch;
    default:
      return IpcMessage::Type::kOther;
  }
}

absl::Status CutShort(int64_t offset) {
  return DataLoss("the file ends inside the message at offset {}", offset);
}

// Length of the metadata of a message and of its prefix: 8 bytes, or 4 in files
// before Arrow 0.15. A length of 0 ends a stream.
struct Prefix {
  int64_t bytes = 0;
  int64_t metadata = 0;
};
absl::StatusOr<Prefix> ReadPrefix(FileAdapter& file, int64_t offset) {
  int32_t words[2] = {0, 0};
  FM_ASSIGN_OR_RETURN_ARROW(const int64_t got,
                            file.ReadAt(offset, sizeof(words), words));
  if (got < 4) return CutShort(offset);
  if (words[0] != kContinuation) return Prefix{4, words[0]};
  if (got < 8) return CutShort(offset);
  return Prefix{8, words[1]};
}

// Reads the header of a record batch. Its first column must have the same
// number of rows: a damaged number would otherwise become positions.
absl::Status ReadBatchHeader(const arrow::ipc::Message& message, int64_t offset,
                             IpcMessage& out) {
  const auto* const batch =
      static_cast<const flatbuffers::Table*>(message.header());
  if (batch == nullptr) {
    return DataLoss("the record batch at offset {} has no header", offset);
  }
  const auto rows = batch->GetField<int64_t>(kRowsOfBatch, 0);
  const auto* const nodes =
      batch->GetPointer<const flatbuffers::Vector<FieldNode>*>(kNodesOfBatch);
  FieldNode first{rows, 0};
  if (nodes != nullptr && nodes->size() > 0) {
    std::memcpy(&first, nodes->Data(), sizeof(first));
  }
  out.compressed = batch->CheckField(kCompressionOfBatch);
  out.rows = static_cast<uint64_t>(rows);
  if (rows >= 0 && first.length == rows) return absl::OkStatus();
  return DataLoss(
      "the record batch at offset {} says that it has {} rows, its first "
      "column {}",
      offset, rows, first.length);
}

absl::Status ReadDictionaryHeader(const arrow::ipc::Message& message,
                                  int64_t offset, IpcMessage& out) {
  const auto* const dictionary =
      static_cast<const flatbuffers::Table*>(message.header());
  if (dictionary == nullptr) {
    return DataLoss("the dictionary at offset {} has no header", offset);
  }
  out.dictionary = dictionary->GetField<int64_t>(kIdOfDictionary, 0);
  out.delta = dictionary->GetField<uint8_t>(kDeltaOfDictionary, 0) != 0;
  return absl::OkStatus();
}

// Reads the metadata of the message at `offset`.
absl::StatusOr<IpcMessage> ReadMetadata(FileAdapter& file, int64_t offset,
                                        const Prefix& prefix) {
  FM_ASSIGN_OR_RETURN_ARROW(const int64_t size, file.GetSize());
  const int64_t begin = offset + prefix.bytes;
  if (prefix.metadata < 0) {
    return DataLoss("the message at offset {} is damaged", offset);
  }
  if (prefix.metadata > size - begin) return CutShort(offset);
  FM_ASSIGN_OR_RETURN_ARROW(auto metadata, file.ReadAt(begin, prefix.metadata));
  FM_ASSIGN_OR_RETURN_ARROW(
      const auto message,
      arrow::ipc::Message::Open(std::move(metadata), nullptr));
  IpcMessage out{.type = TypeOf(message->type()),
                 .offset = offset,
                 .prefix_bytes = prefix.bytes,
                 .metadata_bytes = prefix.bytes + prefix.metadata,
                 .body_bytes = message->body_length()};
  if (out.body_bytes < 0 || out.body_bytes > size - begin - prefix.metadata) {
    return CutShort(offset);
  }
  if (out.type == IpcMessage::Type::kRecordBatch) {
    FM_RETURN_IF_ERROR(ReadBatchHeader(*message, offset, out));
  } else if (out.type == IpcMessage::Type::kDictionary) {
    FM_RETURN_IF_ERROR(ReadDictionaryHeader(*message, offset, out));
  }
  return out;
}

}  // namespace

absl::StatusOr<std::vector<IpcMessage>> ScanStream(FileAdapter& file) {
  FM_ASSIGN_OR_RETURN_ARROW(const int64_t size, file.GetSize());
  std::vector<IpcMessage> messages;
  for (int64_t at = 0; at < size;) {
    FM_ASSIGN_OR_RETURN(const Prefix prefix, ReadPrefix(file, at));
    if (prefix.metadata == 0) break;
    FM_ASSIGN_OR_RETURN(messages.emplace_back(),
                        ReadMetadata(file, at, prefix));
    if (messages.size() == 1 && messages[0].type != IpcMessage::Type::kSchema) {
      return DataLoss("its first message is no schema");
    }
    at = messages.back().end();
  }
  if (messages.empty()) return DataLoss("it has no messages");
  return messages;
}

absl::StatusOr<std::vector<IpcMessage>> ListBatches(FileAdapter& file) {
  FM_ASSIGN_OR_RETURN_ARROW(const int64_t size, file.GetSize());
  int32_t length = 0;
  FM_ASSIGN_OR_RETURN_ARROW(
      const int64_t got,
      file.ReadAt(size - kTailBytes, sizeof(length), &length));
  if (got != sizeof(length) || length <= 0 || length > size - kTailBytes) {
    return DataLoss("the length of its footer is damaged");
  }
  FM_ASSIGN_OR_RETURN_ARROW(const auto footer,
                            file.ReadAt(size - kTailBytes - length, length));
  const auto* const root =
      flatbuffers::GetRoot<flatbuffers::Table>(footer->data());
  const auto* const batches =
      root->GetPointer<const flatbuffers::Vector<FooterBlock>*>(
          kBatchesOfFooter);
  std::vector<IpcMessage> messages;
  const size_t count = batches == nullptr ? 0 : batches->size();
  for (size_t k = 0; k < count; ++k) {
    FooterBlock block;
    std::memcpy(&block, batches->Data() + k * sizeof(block), sizeof(block));
    if (block.offset < 0 || block.offset >= size) {
      return DataLoss("its footer is damaged: record batch {} is at offset {}",
                      k, block.offset);
    }
    FM_ASSIGN_OR_RETURN(const Prefix prefix, ReadPrefix(file, block.offset));
    FM_ASSIGN_OR_RETURN(messages.emplace_back(),
                        ReadMetadata(file, block.offset, prefix));
    if (messages.back().type != IpcMessage::Type::kRecordBatch) {
      return DataLoss("its footer is damaged: no record batch at offset {}",
                      block.offset);
    }
  }
  return messages;
}

arrow::Status SplicedStream::Close() {
  closed_ = true;
  return arrow::Status::OK();
}

// Returns the number of bytes left in all messages.
int64_t SplicedStream::Left() const {
  int64_t left = -inside_;
  for (size_t m = message_; m < messages_.size(); ++m) {
    left += messages_[m].metadata_bytes + messages_[m].body_bytes;
  }
  return left;
}

arrow::Result<int64_t> SplicedStream::Read(int64_t bytes, void* out) {
  int64_t done = 0;
  while (done < bytes && message_ < messages_.size()) {
    const IpcMessage& message = messages_[message_];
    const int64_t left = message.end() - message.offset - inside_;
    if (left == 0) {
      ++message_;
      inside_ = 0;
      continue;
    }
    ARROW_ASSIGN_OR_RAISE(
        const int64_t got,
        file_->ReadAt(message.offset + inside_, std::min(left, bytes - done),
                      static_cast<char*>(out) + done));
    if (got == 0) break;
    done += got;
    inside_ += got;
  }
  position_ += done;
  return done;
}

arrow::Result<std::shared_ptr<arrow::Buffer>> SplicedStream::Read(
    int64_t bytes) {
  const int64_t most = std::min(std::max<int64_t>(bytes, 0), Left());
  ARROW_ASSIGN_OR_RAISE(auto buffer,
                        arrow::AllocateResizableBuffer(most, BoundedPool()));
  ARROW_ASSIGN_OR_RAISE(const int64_t got, Read(most, buffer->mutable_data()));
  ARROW_RETURN_NOT_OK(buffer->Resize(got, /*shrink_to_fit=*/false));
  return std::shared_ptr<arrow::Buffer>(std::move(buffer));
}

}  // namespace feedmill
