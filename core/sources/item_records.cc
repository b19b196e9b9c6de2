#include "core/sources/item_records.h"

#include <map>
#include <string>
#include <utility>

#include "core/base/status.h"
#include "core/io/file_errors.h"
#include "core/io/manifest_files.h"
#include "core/sources/record_decoder.h"
#include "core/sources/value_cache.h"

namespace feedmill {
namespace {

constexpr size_t kKnownBytesMax = size_t{256} << 20;

size_t BytesOfColumns(RecordBlock& block) {
  size_t bytes = 0;
  for (OutputColumn& column : block.columns) {
    bytes += column.values.size() + column.offsets.size() +
             column.row_starts.size() + column.row_shapes.size();
  }
  return bytes;
}

class ItemRecords final : public RecordSource {
 public:
  ItemRecords(OpenItemFile open, std::vector<SourceField> fields,
              std::shared_ptr<const Manifest> manifest)
      : open_(std::move(open)),
        fields_(std::move(fields)),
        files_(std::move(manifest)) {}

  std::unique_ptr<Scratch> NewScratch() const override {
    return std::make_unique<Memory>();
  }

  absl::StatusOr<size_t> Read(std::span<const uint64_t> indexes,
                              size_t bytes_max, Scratch& scratch,
                              RecordBlock& out) const override;

  std::string Describe(uint64_t index, uint64_t) const override {
    return files_.NameOfRecord(index);
  }

 private:
  struct Memory final : Scratch {
    std::vector<std::byte> bytes;
  };

  using Items = std::shared_ptr<const ItemFile>;
  // The file of the last record, so that the locks of the caches are taken once
  // for successive records of a file.
  struct Current {
    size_t file = 0;
    Items items{};  // null: none yet
    std::shared_ptr<const RandomAccessFile> opened{};
    ReadFileAt read{};
  };
  absl::StatusOr<Items> ItemsOf(size_t file) const;
  absl::StatusOr<Items> Open(size_t file) const;
  absl::Status Announce(std::span<const uint64_t> indexes,
                        size_t bytes_max) const;
  absl::Status MoveTo(size_t file, Current& current) const;
  absl::Status ReadOne(uint64_t index, Current& current, Memory& memory,
                       RecordBlock& out) const;

  const OpenItemFile open_;
  const std::vector<SourceField> fields_;
  const ManifestFiles files_;
  const ValueCache<size_t, ItemFile> known_{kKnownBytesMax};  // by file
};

absl::StatusOr<ItemRecords::Items> ItemRecords::Open(size_t file) const {
  FM_ASSIGN_OR_RETURN(const auto opened, files_.Open(file));
  const ManifestFile& info = files_.info(file);
  auto items = open_(*opened, info.size, fields_);
  FM_RETURN_IF_ERROR(files_.Check(file, *opened));
  if (!items.ok()) return NameFile(items.status(), info.path);
  if ((*items)->records() != info.records) return files_.Changed(file);
  return Items(*std::move(items));
}

absl::StatusOr<ItemRecords::Items> ItemRecords::ItemsOf(size_t file) const {
  return known_.Get(file, [&] { return Open(file); });
}

// Announces what the records need, about `bytes_max` of it, where reads wait.
absl::Status ItemRecords::Announce(std::span<const uint64_t> indexes,
                                   size_t bytes_max) const {
  std::map<size_t, std::vector<ByteRange>> by_file;
  uint64_t bytes = 0;
  for (const uint64_t index : indexes) {
    if (bytes >= bytes_max) break;
    const auto place = files_.Find(index);
    const auto items = ItemsOf(place.file);
    if (absl::IsDataLoss(items.status())) break;
    FM_RETURN_IF_ERROR(items.status());
    const ByteRange range = (*items)->RangeOf(place.record);
    if (range.size > 0) by_file[place.file].push_back(range);
    bytes += range.size + 1;
  }
  for (const auto& [file, ranges] : by_file) {
    FM_ASSIGN_OR_RETURN(const auto opened, files_.Open(file));
    if (opened->ahead_bytes() > 0) opened->Prefetch(ranges);
  }
  return absl::OkStatus();
}

absl::Status ItemRecords::MoveTo(size_t file, Current& current) const {
  if (current.items != nullptr && current.file == file) {
    return absl::OkStatus();
  }
  FM_ASSIGN_OR_RETURN(Items items, ItemsOf(file));
  FM_ASSIGN_OR_RETURN(current.opened, files_.Open(file));
  current.read = [this, file, opened = current.opened.get()](
                     uint64_t offset, std::span<std::byte> bytes) {
    return files_.Read(file, *opened, offset, bytes);
  };
  current.file = file;
  current.items = std::move(items);
  return absl::OkStatus();
}

absl::Status ItemRecords::ReadOne(uint64_t index, Current& current,
                                  Memory& memory, RecordBlock& out) const {
  const auto place = files_.Find(index);
  FM_RETURN_IF_ERROR(MoveTo(place.file, current));
  const absl::Status status = current.items->Append(place.record, current.read,
                                                    memory.bytes, out.columns);
  if (status.ok() || !absl::IsDataLoss(status)) return status;
  return Annotate(status, Describe(index, 0));
}

absl::StatusOr<size_t> ItemRecords::Read(std::span<const uint64_t> indexes,
                                         size_t bytes_max, Scratch& scratch,
                                         RecordBlock& out) const {
  out.Reset(fields_);
  if (files_.has_urls()) FM_RETURN_IF_ERROR(Announce(indexes, bytes_max));
  auto& memory = static_cast<Memory&>(scratch);
  Current current;
  for (const uint64_t index : indexes) {
    const absl::Status status = ReadOne(index, current, memory, out);
    if (absl::IsDataLoss(status)) {
      out.Truncate(out.rows);
      out.error = status;
      break;
    }
    FM_RETURN_IF_ERROR(status);
    ++out.rows;
    if (BytesOfColumns(out) >= bytes_max) break;
  }
  return out.rows;
}

}  // namespace

std::unique_ptr<const RecordSource> MakeItemRecords(
    OpenItemFile open, const std::vector<SourceField>& fields,
    const std::vector<bool>& live, std::shared_ptr<const Manifest> manifest) {
  return std::make_unique<ItemRecords>(
      std::move(open), LiveFields(fields, live), std::move(manifest));
}

absl::StatusOr<std::string> ReadWhole(const RandomAccessFile& file,
                                      uint64_t offset, uint64_t size) {
  std::string bytes(size, '\0');
  if (size == 0) return bytes;
  FM_ASSIGN_OR_RETURN(
      const size_t got,
      file.Read(offset, std::as_writable_bytes(std::span<char>(bytes))));
  if (got == bytes.size()) return bytes;
  return DataLoss("the file ends at byte {}, {} were expected", offset + got,
                  offset + size);
}

}  // namespace feedmill
