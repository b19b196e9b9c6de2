#include "core/sources/table_reader.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/status.h"
#include "core/chunk/chunk_builder.h"
#include "core/dataset/source_types.h"
#include "core/sources/record_format.h"

namespace feedmill {
namespace {

constexpr size_t kTableReadBytes = size_t{4} << 20;

}  // namespace

TableReader::TableReader(const Source& source, ElementSpec spec)
    : source_(source),
      counted_(PropertiesOf(source).positions == Positions::kRecords),
      spec_(std::make_shared<const ElementSpec>(std::move(spec))) {}

absl::StatusOr<Chunk> TableReader::Read(
    std::shared_ptr<const Manifest> manifest, const std::vector<bool>& live,
    size_t bytes_max) {
  std::optional<uint64_t> size = FormatOf(source_).Size(source_.options());
  if (!size) size = manifest->TotalRecords();
  bytes_max_ = bytes_max;
  FM_ASSIGN_OR_RETURN(records_, RecordSource::Make(source_, counted_,
                                                   std::move(manifest), live));
  scratch_ = records_->NewScratch();
  ChunkBuilder rows(spec_);
  FM_RETURN_IF_ERROR(counted_ ? ReadRecords(*size, rows)
                              : ReadBlocks(*size, rows));
  return std::move(rows).Finish();
}

std::string TableReader::NameOf(size_t row) const {
  const auto after =
      std::ranges::upper_bound(reads_, row, {}, &ReadRows::first);
  const ReadRows& read = *(after - 1);
  const uint64_t place = row - read.first;
  return counted_ ? records_->Describe(read.index + place, 0)
                  : records_->Describe(read.index, read.row + place);
}

absl::Status TableReader::ReadRecords(uint64_t size, ChunkBuilder& rows) {
  for (uint64_t at = 0; at < size; at += block_.rows) {
    FM_RETURN_IF_ERROR(
        records_->ReadRun(at, size - at, kTableReadBytes, *scratch_, block_)
            .status());
    FM_RETURN_IF_ERROR(Add(at, 0, rows));
  }
  return absl::OkStatus();
}

absl::Status TableReader::ReadBlocks(uint64_t size, ChunkBuilder& rows) {
  for (uint64_t at = 0; at < size; ++at) {
    bool more = true;
    for (uint64_t row = 0; more; row += block_.rows) {
      FM_ASSIGN_OR_RETURN(
          more, records_->ReadBlock(at, row, kTableReadBytes, block_));
      FM_RETURN_IF_ERROR(Add(at, row, rows));
    }
  }
  return absl::OkStatus();
}

// Adds the rows that were read.
absl::Status TableReader::Add(uint64_t index, uint64_t row,
                              ChunkBuilder& rows) {
  FM_RETURN_IF_ERROR(block_.MakePlain({}, false));
  if (block_.rows > 0) reads_.push_back({rows.rows(), index, row});
  for (size_t c = 0; c < block_.columns.size() && block_.rows > 0; ++c) {
    rows.AppendRows(c, block_.columns[c].View(), 0, block_.rows);
  }
  rows.FinishRows(block_.rows);
  FM_RETURN_IF_ERROR(block_.error);
  if (rows.bytes() <= bytes_max_) return absl::OkStatus();
  return ResourceExhausted("its columns have more than {} bytes", bytes_max_);
}

}  // namespace feedmill
