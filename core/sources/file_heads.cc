#include "core/sources/file_heads.h"

#include <utility>

#include "core/base/status.h"
#include "core/io/file_errors.h"
#include "core/sources/record_stream.h"

namespace feedmill {
namespace {

constexpr size_t kHeadsMax = 4096;

}  // namespace

absl::StatusOr<std::shared_ptr<const RecordDecoder::Head>> FileHeads::Get(
    size_t file, const std::string& header) const {
  {
    const std::lock_guard lock(mutex_);
    const auto found = heads_.find(file);
    if (found != heads_.end()) return found->second;
  }
  auto head = std::make_shared<RecordDecoder::Head>();
  if (framing_.properties().first_is_header) {
    std::string text = header;
    if (text.empty()) {
      FM_ASSIGN_OR_RETURN(text, ReadHeader(file));
    }
    auto read = decoder_.ReadHead(text);
    if (!read.ok()) return NameFile(read.status(), files_.info(file).path);
    *head = *std::move(read);
  }
  const std::lock_guard lock(mutex_);
  if (heads_.size() >= kHeadsMax) heads_.clear();
  heads_[file] = head;
  return head;
}

absl::StatusOr<std::string> FileHeads::ReadHeader(size_t file) const {
  FM_ASSIGN_OR_RETURN(const auto opened, files_.Open(file));
  const auto read = [&](uint64_t offset, std::span<std::byte> out) {
    return files_.Read(file, *opened, offset, out);
  };
  RecordStream stream(framing_, files_.info(file).path,
                      MakeByteStream(coding_, read, 0, files_.info(file).size));
  while (stream.header().empty()) {
    FM_ASSIGN_OR_RETURN(const bool more, stream.Next());
    if (!more) break;
  }
  FM_RETURN_IF_ERROR(stream.error());
  return stream.header();
}

}  // namespace feedmill
