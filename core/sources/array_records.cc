#include "core/sources/array_records.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "core/base/status.h"
#include "core/base/utf8.h"
#include "core/io/file_errors.h"
#include "core/io/manifest_files.h"
#include "core/sources/record_decoder.h"
#include "core/sources/value_cache.h"

namespace feedmill {
namespace {

constexpr size_t kLayoutsMax = 4096;

constexpr size_t kWholeBytesKept = size_t{256} << 20;

// All rows of an array.
struct WholeRows {
  std::string rows;
  size_t bytes() const { return rows.size(); }
};

// True if rows can be read into a column as they are.
bool IsPlain(const FileArray& array) {
  if (array.whole || array.stored != StoredAs::kNative) return false;
  if (array.dtype == DType::kBytes) return true;
  const auto items = static_cast<uint64_t>(NumItems(array.shape));
  return array.within == 0 && array.row_bytes == items * ItemSize(array.dtype);
}

template <class T>
T LoadItem(const std::byte* from, bool swapped) {
  T value;
  std::memcpy(&value, from, sizeof value);
  if (!swapped) return value;
  if constexpr (sizeof value == 2) return __builtin_bswap16(value);
  if constexpr (sizeof value == 4) return __builtin_bswap32(value);
  if constexpr (sizeof value == 8) return __builtin_bswap64(value);
}

template <class T>
void AppendSwapped(const std::byte* from, size_t items, BufferBuilder& out) {
  for (size_t k = 0; k < items; ++k, from += sizeof(T)) {
    out.Push(LoadItem<T>(from, true));
  }
}

void AppendHalves(const std::byte* from, size_t items, bool swapped,
                  BufferBuilder& out) {
  for (size_t k = 0; k < items; ++k, from += 2) {
    out.Push(float{Float16::FromBits(LoadItem<uint16_t>(from, swapped))});
  }
}

// Appends a text without the zeros at its end.
void AppendPadded(std::string_view text, OutputColumn& column) {
  const size_t last = text.find_last_not_of('\0');
  column.values.Append(text.data(), last == text.npos ? 0 : last + 1);
  column.offsets.Push(static_cast<int64_t>(column.values.size()));
}

absl::Status AppendUcs4(const std::byte* from, size_t bytes, bool swapped,
                        OutputColumn& column) {
  std::string text;
  for (size_t k = 0; k + 4 <= bytes; k += 4) {
    const auto code = LoadItem<uint32_t>(from + k, swapped);
    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) {
      return DataLoss("a text has a character that Unicode does not have");
    }
    AppendUtf8(code, text);
  }
  AppendPadded(text, column);
  return absl::OkStatus();
}

// Appends the items of a row that stand at `from`.
absl::Status AppendRow(const FileArray& array, const std::byte* from,
                       OutputColumn& column) {
  const auto items = static_cast<size_t>(NumItems(array.shape));
  const bool swapped = array.stored == StoredAs::kSwappedHalf ||
                       array.stored == StoredAs::kSwappedUcs4;
  switch (array.stored) {
    case StoredAs::kNative:
      column.values.Append(from, items * ItemSize(array.dtype));
      break;
    case StoredAs::kSwapped:
      if (array.item_bytes == 2) {
        AppendSwapped<uint16_t>(from, items, column.values);
      } else if (array.item_bytes == 4) {
        AppendSwapped<uint32_t>(from, items, column.values);
      } else {
        AppendSwapped<uint64_t>(from, items, column.values);
      }
      break;
    case StoredAs::kHalf:
    case StoredAs::kSwappedHalf:
      AppendHalves(from, items, swapped, column.values);
      break;
    case StoredAs::kPaddedBytes:
      for (size_t k = 0; k < items; ++k, from += array.item_bytes) {
        AppendPadded({reinterpret_cast<const char*>(from), array.item_bytes},
                     column);
      }
      break;
    case StoredAs::kUcs4:
    case StoredAs::kSwappedUcs4:
      for (size_t k = 0; k < items; ++k, from += array.item_bytes) {
        FM_RETURN_IF_ERROR(AppendUcs4(from, array.item_bytes, swapped, column));
      }
      break;
  }
  return absl::OkStatus();
}

void MakeBools(std::span<std::byte> values) {
  for (std::byte& value : values) {
    if (value != std::byte{0}) value = std::byte{1};
  }
}

// Returns the place of rows in their file.
ByteRange RangeOf(const FileArray& array, uint64_t first, uint64_t count) {
  return {array.offset + first * array.row_bytes, count * array.row_bytes};
}

class ArrayRecords final : public RecordSource {
 public:
  using Arrays = std::vector<FileArray>;

  ArrayRecords(ArraysOfFile arrays_of, const std::vector<bool>& live,
               std::shared_ptr<const Manifest> manifest)
      : arrays_of_(std::move(arrays_of)),
        live_(live),
        files_(std::move(manifest)) {}

  std::unique_ptr<Scratch> NewScratch() const override {
    return std::make_unique<Scratch>();
  }

  absl::StatusOr<size_t> Read(std::span<const uint64_t> indexes,
                              size_t bytes_max, Scratch&,
                              RecordBlock& out) const override;

  std::string Describe(uint64_t index, uint64_t) const override {
    return files_.NameOfRecord(index);
  }

 private:
  using KnownArrays = absl::StatusOr<std::shared_ptr<const Arrays>>;

  KnownArrays ArraysIn(size_t file) const;
  KnownArrays Remember(size_t file, KnownArrays arrays) const;
  absl::Status CheckUnits(size_t file, const Arrays& arrays) const;
  // Adjacent rows of a file that one read gets.
  struct Run {
    std::shared_ptr<const Arrays> arrays;
    size_t file = 0;
    uint64_t first = 0;
    uint64_t count = 0;
  };
  absl::StatusOr<Run> RunAt(std::span<const uint64_t> indexes, size_t k,
                            size_t& left) const;
  absl::Status Announce(std::span<const uint64_t> indexes,
                        size_t bytes_max) const;
  static void Prepare(const Arrays& arrays, RecordBlock& out);
  struct LoadedRows {
    ByteRange range{};
    std::vector<std::byte> bytes;
    std::shared_ptr<const WholeRows> whole;
    std::span<const std::byte> rows;  // of bytes or of whole
  };
  absl::Status ReadPlain(const Run& run, const FileArray& array,
                         const RandomAccessFile& opened, RecordBlock& out,
                         OutputColumn& column) const;
  absl::Status LoadRows(const Run& run, const FileArray& array,
                        const RandomAccessFile& opened,
                        LoadedRows& loaded) const;
  absl::Status ReadRows(const Run& run, RecordBlock& out) const;

  const ArraysOfFile arrays_of_;
  const std::vector<bool> live_;  // by array; empty: all
  const ManifestFiles files_;

  mutable std::mutex mutex_;
  // By file; the error of a damaged one.
  mutable std::map<size_t, KnownArrays> arrays_;
  // By file and name of the array.
  const ValueCache<std::pair<size_t, std::string>, WholeRows> whole_{
      kWholeBytesKept};
};

ArrayRecords::KnownArrays ArrayRecords::ArraysIn(size_t file) const {
  {
    const std::lock_guard lock(mutex_);
    const auto found = arrays_.find(file);
    if (found != arrays_.end()) return found->second;
  }
  FM_ASSIGN_OR_RETURN(const auto opened, files_.Open(file));
  const ManifestFile& info = files_.info(file);
  absl::StatusOr<Arrays> read = arrays_of_(*opened, info.size);
  FM_RETURN_IF_ERROR(files_.Check(file, *opened));
  if (absl::IsDataLoss(read.status())) return Remember(file, read.status());
  FM_RETURN_IF_ERROR(read.status());
  Arrays arrays = *std::move(read);
  if (arrays[0].rows != info.records) return files_.Changed(file);
  for (size_t c = live_.size(); c-- > 0;) {
    if (!live_[c]) arrays.erase(arrays.begin() + static_cast<ptrdiff_t>(c));
  }
  const absl::Status same = CheckUnits(file, arrays);
  if (absl::IsDataLoss(same)) return Remember(file, same);
  FM_RETURN_IF_ERROR(same);
  return Remember(file, std::make_shared<const Arrays>(std::move(arrays)));
}

// DataLoss if times have another unit than in the first file, or numbers are
// times there.
absl::Status ArrayRecords::CheckUnits(size_t file, const Arrays& arrays) const {
  const bool may_be_times = std::ranges::any_of(
      arrays,
      [](const FileArray& array) { return array.dtype == DType::kInt64; });
  if (file == 0 || !may_be_times) return absl::OkStatus();
  FM_ASSIGN_OR_RETURN(const auto first, ArraysIn(0));
  const auto text = [](const FileArray& array) {
    return array.unit.empty() ? std::string("int64") : array.unit;
  };
  for (size_t c = 0; c < arrays.size(); ++c) {
    if (arrays[c].unit == (*first)[c].unit) continue;
    return DataLoss(
        "{}: {} is {}, where it is {} in {}; write both with one unit, or read "
        "them by two sources",
        files_.info(file).path,
        arrays[c].name.empty()
            ? "its dtype"
            : fmt::format("the dtype of \"{}\"", Shown(arrays[c].name)),
        text(arrays[c]), text((*first)[c]), files_.info(0).path);
  }
  return absl::OkStatus();
}

ArrayRecords::KnownArrays ArrayRecords::Remember(size_t file,
                                                 KnownArrays arrays) const {
  const std::lock_guard lock(mutex_);
  if (arrays_.size() >= kLayoutsMax) arrays_.clear();
  return arrays_.insert_or_assign(file, std::move(arrays)).first->second;
}

void ArrayRecords::Prepare(const Arrays& arrays, RecordBlock& out) {
  out.columns.resize(arrays.size());
  for (size_t c = 0; c < arrays.size(); ++c) {
    out.columns[c].Reset(arrays[c].dtype, arrays[c].shape);
  }
}

absl::Status ArrayRecords::ReadPlain(const Run& run, const FileArray& array,
                                     const RandomAccessFile& opened,
                                     RecordBlock& out,
                                     OutputColumn& column) const {
  const ByteRange range = RangeOf(array, run.first, run.count);
  const auto bytes = static_cast<size_t>(range.size);
  std::byte* const at = column.values.Extend(bytes);
  FM_RETURN_IF_ERROR(files_.Read(run.file, opened, range.offset, {at, bytes}));
  if (array.dtype == DType::kBool) {
    MakeBools({at, bytes});
  } else if (array.dtype == DType::kBytes) {
    for (uint64_t k = 1; k <= run.count; ++k) {
      column.offsets.Push(
          static_cast<int64_t>((out.rows + k) * array.row_bytes));
    }
  }
  return absl::OkStatus();
}

// The bytes of rows, from the file or from memory. Arrays that are parts of the
// same rows share them.
absl::Status ArrayRecords::LoadRows(const Run& run, const FileArray& array,
                                    const RandomAccessFile& opened,
                                    LoadedRows& loaded) const {
  const ByteRange range = RangeOf(array, run.first, run.count);
  if (!array.whole) {
    if (loaded.whole == nullptr && loaded.range == range) {
      return absl::OkStatus();
    }
    loaded.whole = nullptr;
    loaded.range = range;
    loaded.bytes.resize(range.size);
    loaded.rows = loaded.bytes;
    return range.size == 0
               ? absl::OkStatus()
               : files_.Read(run.file, opened, range.offset, loaded.bytes);
  }
  FM_ASSIGN_OR_RETURN(
      loaded.whole,
      whole_.Get({run.file, array.whole_name},
                 [&]() -> absl::StatusOr<std::shared_ptr<const WholeRows>> {
                   auto rows = array.whole(opened);
                   FM_RETURN_IF_ERROR(files_.Check(run.file, opened));
                   if (!rows.ok()) {
                     return CallDamaged(
                         rows.status(),
                         fmt::format("{}{}{}", opened.name(),
                                     array.name.empty() ? "" : ": ",
                                     array.whole_name));
                   }
                   return std::make_shared<const WholeRows>(*std::move(rows));
                 }));
  loaded.rows = std::as_bytes(std::span(loaded.whole->rows))
                    .subspan(range.offset, range.size);
  return absl::OkStatus();
}

absl::Status ArrayRecords::ReadRows(const Run& run, RecordBlock& out) const {
  FM_ASSIGN_OR_RETURN(const auto opened, files_.Open(run.file));
  LoadedRows loaded;
  for (size_t c = 0; c < run.arrays->size(); ++c) {
    const FileArray& array = (*run.arrays)[c];
    OutputColumn& column = out.columns[c];
    if (IsPlain(array)) {
      FM_RETURN_IF_ERROR(ReadPlain(run, array, *opened, out, column));
      continue;
    }
    FM_RETURN_IF_ERROR(LoadRows(run, array, *opened, loaded));
    const size_t before = column.values.size();
    for (uint64_t k = 0; k < run.count; ++k) {
      const std::byte* const row =
          loaded.rows.data() + k * array.row_bytes + array.within;
      const absl::Status status = AppendRow(array, row, column);
      if (!status.ok()) return Annotate(status, opened->name());
    }
    if (array.dtype == DType::kBool) {
      MakeBools({column.values.data() + before, column.values.size() - before});
    }
  }
  out.rows += static_cast<size_t>(run.count);
  return absl::OkStatus();
}

// Returns the adjacent rows from indexes[k] on that fit into `left` bytes, at
// least one if k is 0, and subtracts their bytes from `left`.
absl::StatusOr<ArrayRecords::Run> ArrayRecords::RunAt(
    std::span<const uint64_t> indexes, size_t k, size_t& left) const {
  const auto place = files_.Find(indexes[k]);
  Run run{nullptr, place.file, place.record, 0};
  FM_ASSIGN_OR_RETURN(run.arrays, ArraysIn(place.file));
  uint64_t row_bytes = 0;
  for (const FileArray& array : *run.arrays) row_bytes += array.row_bytes;
  const uint64_t fit = std::max<uint64_t>(
      k == 0 ? 1 : 0, left / std::max<uint64_t>(row_bytes, 1));
  const uint64_t in_file = files_.info(place.file).records - place.record;
  const uint64_t most =
      std::min({fit, in_file, static_cast<uint64_t>(indexes.size() - k)});
  if (most == 0) return run;
  run.count = 1;
  while (run.count < most && indexes[k + run.count] == indexes[k] + run.count) {
    ++run.count;
  }
  left -= static_cast<size_t>(std::min<uint64_t>(left, run.count * row_bytes));
  return run;
}

// Announces the reads of all runs, for files whose reads have latency.
absl::Status ArrayRecords::Announce(std::span<const uint64_t> indexes,
                                    size_t bytes_max) const {
  size_t left = bytes_max;
  for (size_t k = 0; k < indexes.size();) {
    const absl::StatusOr<Run> next = RunAt(indexes, k, left);
    if (absl::IsDataLoss(next.status())) break;  // Read reports it
    FM_RETURN_IF_ERROR(next.status());
    const Run& run = *next;
    if (run.count == 0) break;
    k += static_cast<size_t>(run.count);
    FM_ASSIGN_OR_RETURN(const auto opened, files_.Open(run.file));
    if (opened->ahead_bytes() == 0) continue;
    std::vector<ByteRange> ranges;
    for (const FileArray& array : *run.arrays) {
      const ByteRange range = RangeOf(array, run.first, run.count);
      const bool known = !ranges.empty() && ranges.back() == range;
      if (!array.whole && !known) ranges.push_back(range);
    }
    opened->Prefetch(ranges);
  }
  return absl::OkStatus();
}

absl::StatusOr<size_t> ArrayRecords::Read(std::span<const uint64_t> indexes,
                                          size_t bytes_max, Scratch&,
                                          RecordBlock& out) const {
  out.rows = 0;
  out.error = absl::OkStatus();
  if (files_.has_urls()) FM_RETURN_IF_ERROR(Announce(indexes, bytes_max));
  size_t left = bytes_max;
  for (size_t k = 0; k < indexes.size();) {
    const absl::StatusOr<Run> next = RunAt(indexes, k, left);
    if (absl::IsDataLoss(next.status())) {
      out.error = next.status();
      break;
    }
    FM_RETURN_IF_ERROR(next.status());
    const Run& run = *next;
    if (k == 0) Prepare(*run.arrays, out);
    if (run.count == 0) break;
    FM_RETURN_IF_ERROR(ReadRows(run, out));
    k += static_cast<size_t>(run.count);
  }
  return out.rows;
}

}  // namespace

std::unique_ptr<const RecordSource> MakeArrayRecords(
    ArraysOfFile arrays_of, const std::vector<bool>& live,
    std::shared_ptr<const Manifest> manifest) {
  return std::make_unique<ArrayRecords>(std::move(arrays_of), live,
                                        std::move(manifest));
}

}  // namespace feedmill
