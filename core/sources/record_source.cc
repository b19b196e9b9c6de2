#include "core/sources/record_source.h"

#include <algorithm>
#include <numeric>

#include "core/base/byte_budget.h"
#include "core/base/status.h"
#include "core/dataset/source_types.h"
#include "core/sources/record_format.h"

namespace feedmill {
namespace {

// Records of a run that are looked up together.
constexpr uint64_t kRunRows = 2048;

// Reserves memory for a column that is about as large as an earlier one.
void Hint(size_t bytes, BufferBuilder& builder) {
  builder.Reserve(static_cast<size_t>(
      std::min<uint64_t>(bytes + bytes / 16, ByteBudget::Limit())));
}

}  // namespace

void RecordBlock::Begin(size_t count) {
  rows = 0;
  error = absl::OkStatus();
  columns.resize(count);
}

void RecordBlock::Reset(std::span<const SourceField> fields) {
  Begin(fields.size());
  for (size_t c = 0; c < fields.size(); ++c) {
    columns[c].Reset(fields[c].dtype, fields[c].shape);
  }
}

void RecordBlock::ResetScalars(std::span<const DType> dtypes) {
  Begin(dtypes.size());
  for (size_t c = 0; c < dtypes.size(); ++c) columns[c].Reset(dtypes[c], {});
}

void RecordBlock::Truncate(size_t count) {
  for (EncodedColumn& column : columns) column.Truncate(count);
  rows = count;
}

void RecordBlock::Show(std::vector<Column> shared) {
  columns.resize(shared.size());
  for (size_t c = 0; c < shared.size(); ++c) {
    columns[c].Show(std::move(shared[c]), EncodedColumn::Memory::kShared);
  }
}

void RecordBlock::UseMemory(std::shared_ptr<BlockSource> blocks) {
  if (blocks == blocks_) return;
  blocks_ = std::move(blocks);
  for (EncodedColumn& column : columns) {
    column = EncodedColumn();
    column.values = BufferBuilder(blocks_);
    column.offsets = BufferBuilder(blocks_);
  }
  if (blocks_ != nullptr) Reserve();
}

void RecordBlock::Reserve() {
  for (size_t c = 0; c < taken_bytes_.size(); ++c) {
    Hint(taken_bytes_[c].first, columns[c].values);
    Hint(taken_bytes_[c].second, columns[c].offsets);
  }
}

void RecordBlock::Clear() {
  const size_t count = columns.size();
  std::shared_ptr<BlockSource> blocks = std::move(blocks_);
  *this = RecordBlock();
  columns.resize(count);
  UseMemory(std::move(blocks));
}

bool RecordBlock::mapped() const {
  return std::ranges::any_of(columns, [](const EncodedColumn& column) {
    return column.memory() == EncodedColumn::Memory::kMapped;
  });
}

void RecordBlock::Cut(size_t bytes_max) {
  size_t fit = 1;
  for (size_t most = rows; fit < most;) {
    const size_t middle = fit + (most - fit + 1) / 2;
    size_t bytes = 0;
    for (EncodedColumn& column : columns) bytes += column.BytesOf(middle);
    if (bytes <= bytes_max) {
      fit = middle;
    } else {
      most = middle - 1;
    }
  }
  if (fit < rows) Truncate(fit);
}

absl::Status RecordBlock::MakePlain(std::span<const Encoding::Kinds> taken,
                                    bool takes_mapped) {
  const bool was_mapped = mapped();
  for (size_t c = 0; c < columns.size() && rows > 0; ++c) {
    Encoding::Kinds kinds = Encoding::kPlain;
    if (!taken.empty()) kinds = taken[c];
    if ((kinds & columns[c].encoding().kind) == 0 ||
        (was_mapped && !takes_mapped)) {
      columns[c].MakePlain(rows);
    }
  }
  return was_mapped ? std::exchange(check_mapped, nullptr)() : absl::OkStatus();
}

std::vector<Column> RecordBlock::Take() {
  std::vector<Column> taken;
  taken_bytes_.clear();
  for (EncodedColumn& column : columns) {
    taken_bytes_.emplace_back(column.values.size(), column.offsets.size());
    taken.push_back(column.Take());
  }
  if (blocks_ == nullptr) Reserve();
  return taken;
}

absl::StatusOr<std::unique_ptr<const RecordSource>> RecordSource::Make(
    const Source& source, bool counted,
    std::shared_ptr<const Manifest> manifest, const std::vector<bool>& live,
    const RowFilter& filter) {
  if (manifest == nullptr && SourceFiles(source) != nullptr) {
    return Internal("a source of files needs a manifest");
  }
  return FormatOf(source).MakeRecords(source.options(), counted,
                                      std::move(manifest), live, filter);
}

absl::StatusOr<size_t> RecordSource::Read(std::span<const uint64_t>, size_t,
                                          Scratch&, RecordBlock&) const {
  return Internal("records of an uncounted source cannot be read by number");
}

absl::StatusOr<size_t> RecordSource::ReadRun(uint64_t first, uint64_t count,
                                             size_t bytes_max, Scratch& scratch,
                                             RecordBlock& out) const {
  std::vector<uint64_t> indexes(std::min<uint64_t>(count, kRunRows));
  std::iota(indexes.begin(), indexes.end(), first);
  return Read(indexes, bytes_max, scratch, out);
}

absl::StatusOr<bool> RecordSource::ReadBlock(uint64_t, uint64_t, size_t,
                                             RecordBlock&) const {
  return Internal("a counted source has no blocks");
}

}  // namespace feedmill
