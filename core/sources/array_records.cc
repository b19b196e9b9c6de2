#include "core/sources/array_records.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "core/base/status.h"
#include "core/io/manifest_files.h"

namespace feedmill {
namespace {

constexpr size_t kLayoutsMax = 4096;

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
    const auto place = files_.Find(index);
    return fmt::format("{}: record {}", files_.info(place.file).path,
                       place.record);
  }

 private:
  absl::StatusOr<std::shared_ptr<const Arrays>> ArraysIn(size_t file) const;
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
  absl::Status ReadRows(const Run& run, RecordBlock& out) const;

  const ArraysOfFile arrays_of_;
  const std::vector<bool> live_;  // by array; empty: all
  const ManifestFiles files_;

  mutable std::mutex mutex_;
  mutable std::map<size_t, std::shared_ptr<const Arrays>> arrays_;  // by file
};

absl::StatusOr<std::shared_ptr<const ArrayRecords::Arrays>>
ArrayRecords::ArraysIn(size_t file) const {
  {
    const std::lock_guard lock(mutex_);
    const auto found = arrays_.find(file);
    if (found != arrays_.end()) return found->second;
  }
  FM_ASSIGN_OR_RETURN(const auto opened, files_.Open(file));
  const ManifestFile& info = files_.info(file);
  FM_ASSIGN_OR_RETURN(Arrays arrays, arrays_of_(*opened, info.size));
  if (arrays[0].rows != info.records) return files_.Changed(file);
  for (size_t c = live_.size(); c-- > 0;) {
    if (!live_[c]) arrays.erase(arrays.begin() + static_cast<ptrdiff_t>(c));
  }
  const auto shared = std::make_shared<const Arrays>(std::move(arrays));
  const std::lock_guard lock(mutex_);
  if (arrays_.size() >= kLayoutsMax) arrays_.clear();
  arrays_[file] = shared;
  return shared;
}

void ArrayRecords::Prepare(const Arrays& arrays, RecordBlock& out) {
  out.columns.resize(arrays.size());
  for (size_t c = 0; c < arrays.size(); ++c) {
    out.columns[c].Reset(arrays[c].dtype, arrays[c].shape);
    if (arrays[c].dtype == DType::kBytes) {
      out.columns[c].offsets.Push(int64_t{0});
    }
  }
}

absl::Status ArrayRecords::ReadRows(const Run& run, RecordBlock& out) const {
  FM_ASSIGN_OR_RETURN(const auto opened, files_.Open(run.file));
  for (size_t c = 0; c < run.arrays->size(); ++c) {
    const FileArray& array = (*run.arrays)[c];
    OutputColumn& column = out.columns[c];
    const ByteRange range = RangeOf(array, run.first, run.count);
    const auto bytes = static_cast<size_t>(range.size);
    std::byte* const at = column.values.Extend(bytes);
    FM_RETURN_IF_ERROR(
        files_.Read(run.file, *opened, range.offset, {at, bytes}));
    if (array.dtype == DType::kBool) {
      std::transform(at, at + bytes, at, [](std::byte b) {
        return b == std::byte{0} ? b : std::byte{1};
      });
    } else if (array.dtype == DType::kBytes) {
      for (uint64_t k = 1; k <= run.count; ++k) {
        column.offsets.Push(
            static_cast<int64_t>((out.rows + k) * array.row_bytes));
      }
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
    FM_ASSIGN_OR_RETURN(const Run run, RunAt(indexes, k, left));
    if (run.count == 0) break;
    k += static_cast<size_t>(run.count);
    FM_ASSIGN_OR_RETURN(const auto opened, files_.Open(run.file));
    if (opened->ahead_bytes() == 0) continue;
    std::vector<ByteRange> ranges;
    for (const FileArray& array : *run.arrays) {
      ranges.push_back(RangeOf(array, run.first, run.count));
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
    FM_ASSIGN_OR_RETURN(const Run run, RunAt(indexes, k, left));
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
