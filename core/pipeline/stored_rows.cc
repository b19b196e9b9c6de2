#include "core/pipeline/stored_rows.h"

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <deque>
#include <optional>
#include <tuple>
#include <utility>

#include "core/base/check.h"
#include "core/base/status.h"
#include "core/chunk/chunk_builder.h"
#include "core/io/file_systems.h"

namespace feedmill {

// Numbers of a column's first loaded row, item and byte.
struct LoadedBase {
  uint64_t row = 0;
  uint64_t item = 0;
  uint64_t byte = 0;
};

// A column whose loaded buffers begin at `base`. Their contents may be damaged,
// so every access is bounds-checked.
struct LoadedColumn {
  bool is_bytes = false;
  bool ragged = false;
  uint64_t rank = 0;
  uint64_t item_bytes = 1;
  uint64_t row_items = 0;  // unless ragged
  LoadedBase base;
  std::array<std::span<const std::byte>, 4> buffers;
};

namespace {

constexpr uint64_t kIntBytes = sizeof(int64_t);
constexpr uint64_t kMix = 0x9E3779B97F4A7C15;  // odd
// For longer ranges, a system call costs less than page faults.
constexpr size_t kCopiedBytesMax = size_t{8} << 10;
// Largest buffer that is kept for the next read.
constexpr size_t kKeptBytesMax = size_t{1} << 20;

absl::Status CutShort() { return DataLoss("it is cut short"); }
absl::Status Damaged() {
  return DataLoss("a part does not match its checksum");
}

// The files that this process has open, in the order of opening.
class OpenFiles {
 public:
  // Returns a file to close, if too many are open.
  std::shared_ptr<CacheFile> Add(const std::shared_ptr<CacheFile>& file) {
    const std::lock_guard lock(mutex_);
    opened_.push_back(file);
    if (opened_.size() <= CacheFile::kOpenMax) return nullptr;
    std::shared_ptr<CacheFile> oldest = opened_.front().lock();
    opened_.pop_front();
    return oldest;
  }

  // Removes the files whose paths begin with `prefix`, and returns them.
  std::vector<std::shared_ptr<CacheFile>> Remove(const std::string& prefix) {
    std::vector<std::shared_ptr<CacheFile>> removed;
    const std::lock_guard lock(mutex_);
    std::erase_if(opened_, [&](const std::weak_ptr<CacheFile>& entry) {
      std::shared_ptr<CacheFile> file = entry.lock();
      if (file == nullptr) return true;
      if (!file->path().starts_with(prefix)) return false;
      removed.push_back(std::move(file));
      return true;
    });
    return removed;
  }

  static OpenFiles& Of() {
    static OpenFiles& files = *new OpenFiles();
    return files;
  }

 private:
  std::mutex mutex_;
  std::deque<std::weak_ptr<CacheFile>> opened_;
};

std::optional<uint64_t> NumberAt(std::span<const std::byte> numbers,
                                 uint64_t index) {
  if (index >= numbers.size() / kIntBytes) return std::nullopt;
  uint64_t number;
  std::memcpy(&number, numbers.data() + index * kIntBytes, kIntBytes);
  return number;
}

bool AddRange(std::span<const std::byte> bytes, uint64_t at, uint64_t size,
              uint64_t& sum) {
  if (at > bytes.size() || size > bytes.size() - at) return false;
  // This function of the hash is one to one for each previous sum.
  sum = (std::rotl(sum, 29) ^ XXH3_64bits(bytes.data() + at, size)) * kMix;
  return true;
}

// Adds rows [begin, end) to the checksum. Returns false if a row is not loaded.
bool AddRows(const LoadedColumn& column, uint64_t begin, uint64_t end,
             uint64_t& sum) {
  const auto& [values, offsets, row_shapes, row_starts] = column.buffers;
  const LoadedBase& base = column.base;
  uint64_t first = begin * column.row_items;
  uint64_t last = end * column.row_items;
  if (column.ragged) {
    const auto from = NumberAt(row_starts, begin - base.row);
    const auto to = NumberAt(row_starts, end - base.row);
    const uint64_t shape = column.rank * kIntBytes;
    if (!from || !to || *from > *to ||
        !AddRange(row_starts, (begin - base.row) * kIntBytes,
                  (end - begin + 1) * kIntBytes, sum) ||
        !AddRange(row_shapes, (begin - base.row) * shape, (end - begin) * shape,
                  sum)) {
      return false;
    }
    first = *from;
    last = *to;
  }
  if (!column.is_bytes) {
    return AddRange(values, (first - base.item) * column.item_bytes,
                    (last - first) * column.item_bytes, sum);
  }
  const auto from = NumberAt(offsets, first - base.item);
  const auto to = NumberAt(offsets, last - base.item);
  return from && to && *from <= *to &&
         AddRange(offsets, (first - base.item) * kIntBytes,
                  (last - first + 1) * kIntBytes, sum) &&
         AddRange(values, *from - base.byte, *to - *from, sum);
}

// Subtracts `by` from every number, so that numbers are relative to the loaded
// data.
void Rebase(BufferBuilder& numbers, uint64_t by) {
  auto* const all = numbers.As<uint64_t>();
  for (size_t k = 0; by != 0 && k < numbers.size() / kIntBytes; ++k) {
    all[k] -= by;
  }
}

Buffer ViewOf(BufferBuilder& bytes) {
  return Buffer(nullptr, bytes.size() > 0 ? bytes.data() : nullptr,
                bytes.size());
}

// Returns the rows of whole parts that hold rows [begin, end).
std::pair<uint64_t, uint64_t> WholeParts(const StoredRows& rows, uint64_t begin,
                                         uint64_t end) {
  const uint64_t parts = rows.part_rows;
  return {begin / parts * parts,
          std::min(rows.rows, (end + parts - 1) / parts * parts)};
}

LoadedColumn Describe(DType dtype, const Shape& shape, bool ragged) {
  LoadedColumn column;
  column.is_bytes = dtype == DType::kBytes;
  column.item_bytes = column.is_bytes ? 1 : ItemSize(dtype);
  column.ragged = ragged;
  column.rank = shape.size();
  if (!ragged) column.row_items = static_cast<uint64_t>(NumItems(shape));
  return column;
}

}  // namespace

// The state of a column during a read.
struct StoredReader::Loading {
  explicit Loading(const std::shared_ptr<BlockSource>& blocks)
      : buffers{BufferBuilder(blocks), BufferBuilder(blocks),
                BufferBuilder(blocks), BufferBuilder(blocks)} {}

  LoadedColumn view;
  std::array<BufferBuilder, 4> buffers;  // the memory of view.buffers
};

StoredReader::StoredReader() = default;
StoredReader::~StoredReader() = default;

std::array<const Buffer*, 4> BuffersOf(const Column& column) {
  return {&column.values, &column.offsets, &column.row_shapes,
          &column.row_starts};
}

absl::StatusOr<std::shared_ptr<const RandomAccessFile>> CacheFile::Open() {
  {
    const std::lock_guard lock(mutex_);
    if (opened_ != nullptr) return opened_;
  }
  FM_ASSIGN_OR_RETURN(const FileSystem* const files, FileSystemOf(path_));
  FM_ASSIGN_OR_RETURN(
      std::shared_ptr<const RandomAccessFile> opened,
      known_ ? files->OpenKnown(path_, *known_) : files->Open(path_));
  {
    const std::lock_guard lock(mutex_);
    if (opened_ != nullptr) return opened_;
    opened_ = opened;
  }
  if (const auto oldest = OpenFiles::Of().Add(shared_from_this())) {
    oldest->Close();
  }
  return opened;
}

void CacheFile::CloseAll(const std::string& folder) {
  for (const auto& file : OpenFiles::Of().Remove(folder + "/")) file->Close();
}

void CacheFile::Close() {
  std::shared_ptr<const RandomAccessFile> closed;  // closed outside the lock
  const std::lock_guard lock(mutex_);
  closed.swap(opened_);
}

uint64_t PartRows(const Chunk& chunk) {
  if (chunk.rows == 0) return 1;
  const size_t row_bytes = chunk.ElementBytes() / chunk.rows;
  const size_t rows =
      (StoredRows::kPartBytes + row_bytes - 1) / std::max<size_t>(row_bytes, 1);
  return std::clamp<size_t>(rows, 1, chunk.rows);
}

std::vector<uint64_t> PartChecksums(const Chunk& chunk, uint64_t part_rows) {
  std::vector<LoadedColumn> columns;
  for (const Column& column : chunk.columns) {
    if (chunk.rows == 0) break;
    LoadedColumn& loaded = columns.emplace_back(
        Describe(column.dtype, column.shape, column.ragged()));
    const auto buffers = BuffersOf(column);
    for (size_t b = 0; b < buffers.size(); ++b) {
      loaded.buffers[b] = buffers[b]->span();
    }
  }
  std::vector<uint64_t> checksums;
  for (uint64_t row = 0; row < chunk.rows; row += part_rows) {
    const uint64_t end = std::min<uint64_t>(row + part_rows, chunk.rows);
    uint64_t& sum = checksums.emplace_back(0);
    for (const LoadedColumn& column : columns) {
      FM_CHECK(AddRows(column, row, end, sum));
    }
  }
  return checksums;
}

absl::Status StoredReader::Open(const StoredRows& rows) {
  if (file_ == rows.file) return absl::OkStatus();
  FM_ASSIGN_OR_RETURN(opened_, rows.file->Open());
  file_ = rows.file;
  return absl::OkStatus();
}

absl::Status StoredReader::Fetch(uint64_t at, std::span<std::byte> out) const {
  if (out.empty()) return absl::OkStatus();
  if (out.size() <= kCopiedBytesMax) {
    // The first mapping of a process installs the handler that guards mappings.
    const GuardedMapping* const mapping = opened_->Mapping();
    if (mapping != nullptr && guarded_ && at <= mapping->bytes().size() &&
        out.size() <= mapping->bytes().size() - at) {
      // Copies zeros if the file has become shorter; the checksum detects that.
      std::memcpy(out.data(), mapping->bytes().data() + at, out.size());
      return absl::OkStatus();
    }
  }
  FM_ASSIGN_OR_RETURN(const size_t got, opened_->Read(at, out));
  return got == out.size() ? absl::OkStatus() : CutShort();
}

// Appends bytes [from, to) of `place`.
absl::Status StoredReader::FetchRange(const StoredRows::FileRange& place,
                                      uint64_t from, uint64_t to,
                                      BufferBuilder& out) const {
  if (from > to || to > place.size) return Damaged();
  if (from == to) return absl::OkStatus();
  const auto size = static_cast<size_t>(to - from);
  return Fetch(place.at + from, {out.Extend(size), size});
}

// Copies rows [from, to) of column c, without checking them.
absl::Status StoredReader::Load(const StoredRows& rows, size_t c, uint64_t from,
                                uint64_t to, Loading& column) const {
  const auto& [values, offsets, row_shapes, row_starts] =
      rows.columns[c].places;
  auto& [own_values, own_offsets, own_shapes, own_starts] = column.buffers;
  LoadedColumn& view = column.view;
  view = Describe(rows.spec->components[c].dtype, rows.columns[c].shape,
                  row_starts.size > 0);
  uint64_t first = from * view.row_items;
  uint64_t last = to * view.row_items;
  view.base.row = from;
  if (view.ragged) {
    const uint64_t shape = view.rank * kIntBytes;
    FM_RETURN_IF_ERROR(FetchRange(row_starts, from * kIntBytes,
                                  (to + 1) * kIntBytes, own_starts));
    FM_RETURN_IF_ERROR(
        FetchRange(row_shapes, from * shape, to * shape, own_shapes));
    first = own_starts.As<uint64_t>()[0];
    last = own_starts.As<uint64_t>()[to - from];
    // Products of damaged numbers must not overflow.
    if (first > last || last > UINT64_MAX / 16) return Damaged();
  }
  view.base.item = first;
  if (view.is_bytes) {
    FM_RETURN_IF_ERROR(FetchRange(offsets, first * kIntBytes,
                                  (last + 1) * kIntBytes, own_offsets));
    last = own_offsets.As<uint64_t>()[last - first];
    first = own_offsets.As<uint64_t>()[0];
    view.base.byte = first;
  }
  FM_RETURN_IF_ERROR(FetchRange(values, first * view.item_bytes,
                                last * view.item_bytes, own_values));
  for (size_t b = 0; b < column.buffers.size(); ++b) {
    view.buffers[b] = {column.buffers[b].data(), column.buffers[b].size()};
  }
  return absl::OkStatus();
}

// Copies the parts that hold rows [begin, end) into `columns`, checks the
// copies, and makes their numbers relative to them. `from`: first copied row.
absl::Status StoredReader::LoadParts(const StoredRows& rows, uint64_t begin,
                                     uint64_t end, std::span<Loading> columns,
                                     Chunk& chunk, uint64_t& from) {
  FM_RETURN_IF_ERROR(Open(rows));
  const uint64_t parts = rows.part_rows;
  uint64_t to = 0;
  std::tie(from, to) = WholeParts(rows, begin, end);
  for (size_t c = 0; c < columns.size(); ++c) {
    FM_RETURN_IF_ERROR(Load(rows, c, from, to, columns[c]));
  }
  for (uint64_t row = from; row < to; row += parts) {
    uint64_t sum = 0;
    for (const Loading& column : columns) {
      if (!AddRows(column.view, row, std::min(row + parts, to), sum)) {
        return Damaged();
      }
    }
    if (sum != rows.checksums[row / parts]) return Damaged();
  }
  chunk.rows = static_cast<size_t>(to - from);
  chunk.columns.resize(columns.size());
  for (size_t c = 0; c < columns.size(); ++c) {
    auto& [values, offsets, row_shapes, row_starts] = columns[c].buffers;
    Rebase(row_starts, columns[c].view.base.item);
    Rebase(offsets, columns[c].view.base.byte);
    Column& column = chunk.columns[c];
    column.dtype = rows.spec->components[c].dtype;
    column.shape = rows.columns[c].shape;
    column.values = ViewOf(values);
    column.offsets = ViewOf(offsets);
    column.row_shapes = ViewOf(row_shapes);
    column.row_starts = ViewOf(row_starts);
  }
  return chunk.Validate().ok() ? absl::OkStatus() : Damaged();
}

bool StoredReader::OpenRemote(const StoredRows& rows) {
  return Open(rows).ok() && opened_->ahead_bytes() > 0;
}

void StoredReader::Prefetch(std::span<const RowRange> wanted) {
  if (wanted.empty() || !OpenRemote(*wanted.front().rows)) return;
  for (const RowRange& each : wanted) PrefetchPlaces(each);
  for (const RowRange& each : wanted) PrefetchValues(each);
}

namespace {

// Adds bytes [from, to) of a place, if it has them.
void AddPlace(const StoredRows::FileRange& place, uint64_t from, uint64_t to,
              std::vector<ByteRange>& ranges) {
  if (from < to && to <= place.size) {
    ranges.push_back({place.at + from, to - from});
  }
}

}  // namespace

// Announces the ranges that add(places, column, from, to, ranges) adds for each
// column; [from, to): rows of whole parts.
template <class AddRanges>
void StoredReader::Announce(const RowRange& wanted, const AddRanges& add) {
  const StoredRows& rows = *wanted.rows;
  if (wanted.begin >= wanted.end || !OpenRemote(rows)) return;
  const auto [from, to] = WholeParts(rows, wanted.begin, wanted.end);
  std::vector<ByteRange> ranges;
  for (size_t c = 0; c < rows.columns.size(); ++c) {
    const auto& [values, offsets, row_shapes, row_starts] =
        rows.columns[c].places;
    const LoadedColumn column =
        Describe(rows.spec->components[c].dtype, rows.columns[c].shape,
                 row_starts.size > 0);
    add(rows.columns[c].places, column, from, to, ranges);
  }
  if (!ranges.empty()) opened_->Prefetch(ranges);
}

// Announces values of one size, and the places of others.
void StoredReader::PrefetchPlaces(const RowRange& wanted) {
  Announce(
      wanted, [](const auto& places, const LoadedColumn& column, uint64_t from,
                 uint64_t to, std::vector<ByteRange>& ranges) {
        const auto& [values, offsets, row_shapes, row_starts] = places;
        if (column.ragged) {
          const uint64_t shape = column.rank * kIntBytes;
          AddPlace(row_starts, from * kIntBytes, (to + 1) * kIntBytes, ranges);
          AddPlace(row_shapes, from * shape, to * shape, ranges);
        } else if (column.is_bytes) {
          AddPlace(offsets, from * column.row_items * kIntBytes,
                   (to * column.row_items + 1) * kIntBytes, ranges);
        } else {
          const uint64_t row_bytes = column.row_items * column.item_bytes;
          AddPlace(values, from * row_bytes, to * row_bytes, ranges);
        }
      });
}

absl::StatusOr<uint64_t> StoredReader::NumberIn(
    const StoredRows::FileRange& place, uint64_t index) const {
  uint64_t number = 0;
  if (index >= place.size / kIntBytes) return CutShort();
  FM_RETURN_IF_ERROR(
      Fetch(place.at + index * kIntBytes,
            std::as_writable_bytes(std::span(&number, size_t{1}))));
  return number;
}

// Announces values whose places were announced.
void StoredReader::PrefetchValues(const RowRange& wanted) {
  Announce(wanted,
           [this](const auto& places, const LoadedColumn& column, uint64_t from,
                  uint64_t to, std::vector<ByteRange>& ranges) {
             const auto& [values, offsets, row_shapes, row_starts] = places;
             if (column.ragged == column.is_bytes)
               return;  // neither, or in two steps
             const auto& numbers = column.ragged ? row_starts : offsets;
             const uint64_t items = column.ragged ? 1 : column.row_items;
             const auto first = NumberIn(numbers, from * items);
             const auto last = NumberIn(numbers, to * items);
             if (!first.ok() || !last.ok() || *last > values.size) return;
             AddPlace(values, *first * column.item_bytes,
                      *last * column.item_bytes, ranges);
           });
}

absl::StatusOr<Chunk> StoredReader::Read(
    const StoredRows& rows, uint64_t begin, uint64_t end,
    const std::shared_ptr<BlockSource>& blocks) {
  if (begin >= end) return std::move(ChunkBuilder(rows.spec)).Finish();
  std::vector<Loading> columns;
  columns.reserve(rows.columns.size());
  while (columns.size() < rows.columns.size()) columns.emplace_back(blocks);
  Chunk chunk;
  chunk.spec = rows.spec;
  uint64_t from = 0;
  FM_RETURN_IF_ERROR(LoadParts(rows, begin, end, columns, chunk, from));
  for (size_t c = 0; c < columns.size(); ++c) {
    auto& [values, offsets, row_shapes, row_starts] = columns[c].buffers;
    Column& column = chunk.columns[c];
    column.values = std::move(values).Freeze();
    column.offsets = std::move(offsets).Freeze();
    column.row_shapes = std::move(row_shapes).Freeze();
    column.row_starts = std::move(row_starts).Freeze();
  }
  return chunk.Slice(static_cast<size_t>(begin - from),
                     static_cast<size_t>(end - from));
}

absl::StatusOr<StoredReader::View> StoredReader::ReadHere(
    const StoredRows& rows, uint64_t begin, uint64_t end) {
  while (here_.size() < rows.columns.size()) here_.emplace_back(nullptr);
  const std::span<Loading> columns =
      std::span(here_).first(rows.columns.size());
  for (Loading& column : columns) {
    for (BufferBuilder& buffer : column.buffers) {
      if (buffer.size() > kKeptBytesMax) buffer = BufferBuilder();
      buffer.Truncate(0);
    }
  }
  chunk_here_.spec = rows.spec;
  uint64_t from = 0;
  FM_RETURN_IF_ERROR(LoadParts(rows, begin, end, columns, chunk_here_, from));
  return View{&chunk_here_, static_cast<size_t>(begin - from)};
}

}  // namespace feedmill
