// A TFRecord file of any bytes: indexed, then read record by record.

#include <algorithm>
#include <cstring>

#include "core/base/check.h"
#include "core/operators/registry.h"
#include "core/sources/record_format.h"
#include "core/sources/tfrecord.h"

namespace {

class MemoryFile final : public feedmill::RandomAccessFile {
 public:
  explicit MemoryFile(std::span<const std::byte> bytes)
      : RandomAccessFile("fuzz"), bytes_(bytes) {}

  absl::StatusOr<feedmill::FileIdentity> Identity() const override {
    return feedmill::FileIdentity{bytes_.size()};
  }
  absl::StatusOr<size_t> Read(uint64_t offset,
                              std::span<std::byte> out) const override {
    if (offset >= bytes_.size()) return size_t{0};
    const size_t size = std::min(out.size(), bytes_.size() - offset);
    if (size > 0) std::memcpy(out.data(), bytes_.data() + offset, size);
    return size;
  }
  void Prefetch(std::span<const feedmill::ByteRange>) const override {}

 private:
  const std::span<const std::byte> bytes_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace feedmill;  // NOLINT: a main file
  const auto bytes = std::as_bytes(std::span(data, size));
  const MemoryFile file(bytes);
  static const auto& tfrecords =
      *new auto(FramingOf(MakeSource(TfRecordSource{{"f"}})));
  static const auto& text = *new auto(FramingOf(MakeSource(TextSource{{"f"}})));
  for (const bool lines : {false, true}) {
    const auto index = (lines ? text : tfrecords)->Find(file, size);
    if (!index.ok()) continue;
    // A file that was cut has fewer records.
    FM_CHECK(index->offsets.front() == 0 && index->offsets.back() <= size);
    FM_CHECK(!lines || index->offsets.back() == size);
    for (size_t k = 0; k < index->records(); ++k) {
      FM_CHECK(index->offsets[k] < index->offsets[k + 1]);
      if (lines) continue;
      const auto record = bytes.subspan(
          index->offsets[k], index->offsets[k + 1] - index->offsets[k]);
      const auto parsed =
          ParseTfRecord(record, {file.name(), k, index->offsets[k]});
      FM_CHECK(!parsed.ok() ||
               parsed->size() == record.size() - kTfRecordOverheadBytes);
    }
  }
  return 0;
}
