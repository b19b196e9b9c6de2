#ifndef FEEDMILL_PLUGINS_ARROW_IPC_MESSAGES_H_
#define FEEDMILL_PLUGINS_ARROW_IPC_MESSAGES_H_

#include <arrow/io/interfaces.h>

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "plugins/arrow/file_adapter.h"

namespace feedmill {

// A message of Arrow's IPC format: metadata, then a body.
struct IpcMessage {
  enum class Type { kSchema, kDictionary, kRecordBatch, kOther };
  Type type = Type::kOther;
  uint64_t rows = 0;        // of a record batch
  bool compressed = false;  // a record batch whose values are compressed
  int64_t dictionary = 0;   // the id of a dictionary
  bool delta = false;       // a dictionary that continues the previous one
  int64_t offset = 0;
  int64_t prefix_bytes = 0;    // the metadata's length field
  int64_t metadata_bytes = 0;  // including the prefix
  int64_t body_bytes = 0;

  int64_t end() const { return offset + metadata_bytes + body_bytes; }
};

// Reads the metadata of all messages of a stream, up to its end mark or the end
// of the file. DataLoss if the file ends inside a message.
absl::StatusOr<std::vector<IpcMessage>> ScanStream(FileAdapter& file);

// Lists the record batches in the footer of an IPC file. REQUIRES: Arrow has
// opened the file and thereby checked the footer.
absl::StatusOr<std::vector<IpcMessage>> ListBatches(FileAdapter& file);

// Presents some messages of a file as one stream.
class SplicedStream final : public arrow::io::InputStream {
 public:
  SplicedStream(std::shared_ptr<FileAdapter> file,
                std::vector<IpcMessage> messages)
      : file_(std::move(file)), messages_(std::move(messages)) {}

  arrow::Status Close() override;
  bool closed() const override { return closed_; }
  arrow::Result<int64_t> Tell() const override { return position_; }
  arrow::Result<int64_t> Read(int64_t bytes, void* out) override;
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(int64_t bytes) override;

 private:
  int64_t Left() const;

  const std::shared_ptr<FileAdapter> file_;
  const std::vector<IpcMessage> messages_;
  size_t message_ = 0;
  int64_t inside_ = 0;  // bytes read of the message
  int64_t position_ = 0;
  bool closed_ = false;
};

}  // namespace feedmill

#endif  // FEEDMILL_PLUGINS_ARROW_IPC_MESSAGES_H_
