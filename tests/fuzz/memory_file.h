#ifndef FEEDMILL_TESTS_FUZZ_MEMORY_FILE_H_
#define FEEDMILL_TESTS_FUZZ_MEMORY_FILE_H_

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/check.h"
#include "core/io/random_access_file.h"
#include "core/sources/item_records.h"
#include "core/sources/record_decoder.h"

namespace feedmill {

// The bytes of an input as a file, never read beyond its end.
class MemoryFile final : public RandomAccessFile {
 public:
  explicit MemoryFile(std::string_view bytes)
      : RandomAccessFile("f"), bytes_(bytes) {}

  absl::StatusOr<FileIdentity> Identity() const override {
    return FileIdentity{bytes_.size()};
  }
  absl::StatusOr<size_t> Read(uint64_t offset,
                              std::span<std::byte> out) const override {
    FM_CHECK(offset <= bytes_.size());
    const std::string_view part = bytes_.substr(offset, out.size());
    if (!part.empty()) std::memcpy(out.data(), part.data(), part.size());
    return part.size();
  }
  void Prefetch(std::span<const ByteRange>) const override {}

 private:
  const std::string_view bytes_;
};

// Reads all records of an opened file: each is a row that is sound, or damaged.
inline void CheckItems(const ItemFile& items,
                       const std::vector<SourceField>& fields,
                       std::string_view bytes) {
  const ReadFileAt read = [&](uint64_t offset, std::span<std::byte> out) {
    FM_CHECK(offset <= bytes.size() && out.size() <= bytes.size() - offset);
    std::memcpy(out.data(), bytes.data() + offset, out.size());
    return absl::OkStatus();
  };
  ElementSpec spec;
  for (const SourceField& field : fields) {
    spec.components.push_back({field.name, field.dtype, field.shape});
  }
  RecordBlock block;
  block.Reset(fields);
  std::vector<std::byte> scratch;
  for (uint64_t k = 0; k < items.records(); ++k) {
    const absl::Status status = items.Append(k, read, scratch, block.columns);
    FM_CHECK(status.ok() || absl::IsDataLoss(status));
    if (!status.ok()) block.Truncate(block.rows);
    if (status.ok()) ++block.rows;
  }
  for (size_t c = 0; c < block.columns.size(); ++c) {
    FM_CHECK(
        block.columns[c].View().Validate(spec.components[c], block.rows).ok());
  }
}

}  // namespace feedmill

#endif  // FEEDMILL_TESTS_FUZZ_MEMORY_FILE_H_
