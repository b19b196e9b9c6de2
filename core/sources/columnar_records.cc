#include "core/sources/columnar_records.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>

#include "core/base/status.h"
#include "core/io/manifest_files.h"
#include "core/sources/columnar_groups.h"
#include "core/sources/columnar_rows.h"
#include "core/sources/index_order.h"
#include "core/sources/record_decoder.h"

namespace feedmill {
namespace {

// Bytes of decoded groups that one read holds. From further groups it copies
// the rows that it needs, and then releases them.
constexpr size_t kHeldBytesMax = ColumnarGroups::kBytesMax / 2;
// Rows before the end of a group with fewer bytes than this become no views:
// they are copied together with the rows of the next group.
constexpr size_t kViewBytesMin = size_t{64} << 10;
// Assumed bytes of a value of variable size, until a group was decoded.
constexpr uint64_t kGuessedBytes = 32;

// Rows that a read needs of one group; they are adjacent in the block.
struct WantedRun {
  size_t file = 0;
  size_t group = 0;
  size_t first = 0;  // in the group
  size_t count = 0;
  size_t row = 0;  // in the block
  size_t run = 0;  // index of the run in the block
};

// The first row of the block that cannot be made.
struct FirstBad {
  size_t row;
  absl::Status error{};

  void Note(size_t bad_row, absl::Status why) {
    if (bad_row >= row) return;
    row = bad_row;
    error = std::move(why);
  }
};

// `unit`: of the field's times.
absl::Status FaultOf(RowFault fault, const SourceField& field,
                     const std::string& unit) {
  switch (fault) {
    case RowFault::kNone:
      break;
    case RowFault::kNull:
      return DataLoss("the column \"{}\" is null, which {} cannot be; {}",
                      Shown(field.name), DTypeName(field.dtype),
                      HowToTakeNulls(field));
    case RowFault::kInexact:
      return DataLoss(
          "the column \"{}\" has a value that {} does not hold "
          "exactly; declare another type",
          Shown(field.name), DTypeName(field.dtype));
    case RowFault::kTime:
      return DataLoss(
          "the column \"{}\" has a time that {} does not hold in {}; declare "
          "it "
          "as float64, or write all files in a unit that fits",
          Shown(field.name), DTypeName(field.dtype), unit);
    case RowFault::kIndex:
      return DataLoss(
          "the column \"{}\" has an index that is not in its dictionary",
          Shown(field.name));
  }
  return absl::OkStatus();
}

class ColumnarRecords final : public RecordSource {
 public:
  ColumnarRecords(const ColumnarReader& reader, const ColumnarReading& reading,
                  const std::vector<SourceField>& fields,
                  const std::vector<bool>& live,
                  std::shared_ptr<const Manifest> manifest,
                  const RowFilter& filter)
      : files_(std::move(manifest)),
        groups_(reader, reading, LiveFields(fields, live), files_, filter) {
    for (const SourceField& field : groups_.fields()) {
      const uint64_t fixed = FixedRowBytes(field);
      fixed_bytes_ += fixed;
      if (fixed == 0) guessed_bytes_ += kGuessedBytes;
    }
    row_bytes_ = fixed_bytes_ + guessed_bytes_;
  }

  std::unique_ptr<Scratch> NewScratch() const override {
    return std::make_unique<ReadScratch>();
  }

  absl::StatusOr<size_t> Read(std::span<const uint64_t> indexes,
                              size_t bytes_max, Scratch& scratch,
                              RecordBlock& out) const override {
    auto& read = static_cast<ReadScratch&>(scratch);
    const size_t rows = RowsOf(indexes.size(), bytes_max);
    OrderByIndex(indexes.first(rows), read.order, read.spare);
    read.wanted.clear();
    FirstBad bad{rows};
    for (const auto& [index, row] : read.order) {
      if (row >= bad.row) continue;
      FM_RETURN_IF_ERROR(Want(index, 1, row, row, bad, read));
    }
    return ReadWanted(
        rows, [indexes](size_t row) { return indexes[row]; }, bytes_max, bad,
        read, out);
  }

  absl::StatusOr<size_t> ReadRun(uint64_t first, uint64_t count,
                                 size_t bytes_max, Scratch& scratch,
                                 RecordBlock& out) const override {
    auto& read = static_cast<ReadScratch&>(scratch);
    if (groups_.maps()) {
      FM_ASSIGN_OR_RETURN(const size_t viewed,
                          ReadViews(first, count, read, out));
      if (viewed > 0) return viewed;
    }
    const size_t rows = RowsOf(count, bytes_max);
    read.wanted.clear();
    FirstBad bad{rows};
    for (size_t row = 0; row < bad.row;) {
      const size_t run = read.wanted.size();
      FM_RETURN_IF_ERROR(Want(first + row, rows - row, row, run, bad, read));
      if (row < bad.row) row += read.wanted.back().count;
    }
    return ReadWanted(
        read.wanted.size(), [first](size_t row) { return first + row; },
        bytes_max, bad, read, out);
  }

  std::string Describe(uint64_t index, uint64_t) const override {
    return files_.NameOfRecord(index);
  }

 private:
  struct ReadScratch final : Scratch {
    std::vector<IndexedRow> order;
    std::vector<IndexedRow> spare;
    std::vector<WantedRun> wanted;  // in the order of the files
    std::vector<ColumnarRun> runs;  // in the order of the block
    std::vector<std::shared_ptr<const DecodedGroup>>
        held;  // by index of `runs`
    // The mapped groups of `wanted`, with their files.
    std::vector<std::pair<size_t, std::shared_ptr<const DecodedGroup>>> mapped;
    ColumnarGroups::Starts starts;  // of starts_file
    size_t starts_file = 0;
    size_t starts_group = 0;  // the last group found
  };

  // Number of rows that fit, estimated from the size of earlier rows.
  size_t RowsOf(uint64_t count, size_t bytes_max) const {
    const uint64_t each = std::max<uint64_t>(row_bytes_, 1);
    return static_cast<size_t>(
        std::min<uint64_t>(count, std::max<uint64_t>(bytes_max / each, 1)));
  }

  absl::Status Want(uint64_t index, uint64_t count, size_t row, size_t run,
                    FirstBad& bad, ReadScratch& read) const;
  template <class IndexOf>
  absl::StatusOr<size_t> ReadWanted(size_t runs, IndexOf index_of,
                                    size_t bytes_max, FirstBad& bad,
                                    ReadScratch& read, RecordBlock& out) const;
  absl::StatusOr<size_t> ReadViews(uint64_t first, uint64_t count,
                                   ReadScratch& read, RecordBlock& out) const;
  absl::Status CheckTaken(const ReadScratch& read) const;
  absl::Status HoldGroups(FirstBad& bad, ReadScratch& read) const;
  void HoldGroup(std::span<const WantedRun> members,
                 std::shared_ptr<const DecodedGroup> group, bool whole,
                 FirstBad& bad, ReadScratch& read) const;
  void FindFaults(const WantedRun& wanted, const DecodedGroup& group,
                  FirstBad& bad) const;
  void CountTaken(size_t rows, std::span<const WantedRun> wanted) const;
  size_t CutToFit(size_t rows, size_t bytes_max, ReadScratch& read) const;

  const ManifestFiles files_;
  const ColumnarGroups groups_;
  uint64_t fixed_bytes_ = 0;    // of a row
  uint64_t guessed_bytes_ = 0;  // average of columns of variable size
  mutable std::atomic<uint64_t> row_bytes_ = 0;  // of a row, approximately
};

// Adds records from `index` on, at most `count`, that are in one group.
absl::Status ColumnarRecords::Want(uint64_t index, uint64_t count, size_t row,
                                   size_t run, FirstBad& bad,
                                   ReadScratch& read) const {
  const auto place = files_.FindNear(index, read.starts_file);
  if (read.starts == nullptr || read.starts_file != place.file) {
    auto starts = groups_.StartsOf(place.file);
    if (absl::IsDataLoss(starts.status())) {
      bad.Note(row, starts.status());
      return absl::OkStatus();
    }
    FM_ASSIGN_OR_RETURN(read.starts, std::move(starts));
    read.starts_file = place.file;
    read.starts_group = 0;
  }
  const std::vector<uint64_t>& starts = *read.starts;
  size_t& group = read.starts_group;
  if (place.record < starts[group] || place.record >= starts[group + 1]) {
    const auto after =
        std::upper_bound(starts.begin(), starts.end(), place.record);
    group = static_cast<size_t>(after - starts.begin()) - 1;
  }
  const auto first = static_cast<size_t>(place.record - starts[group]);
  const auto rows = static_cast<size_t>(
      std::min<uint64_t>(count, starts[group + 1] - place.record));
  read.wanted.push_back({place.file, group, first, rows, row, run});
  return absl::OkStatus();
}

void ColumnarRecords::FindFaults(const WantedRun& wanted,
                                 const DecodedGroup& group,
                                 FirstBad& bad) const {
  for (size_t c = 0; c < group.columns.size(); ++c) {
    const std::vector<RowFault>& faults = group.columns[c].faults;
    if (faults.empty()) continue;
    for (size_t k = 0; k < wanted.count && wanted.row + k < bad.row; ++k) {
      const RowFault fault = faults[wanted.first + k];
      if (fault == RowFault::kNone) continue;
      bad.Note(
          wanted.row + k,
          FaultOf(fault, groups_.fields()[c],
                  fault == RowFault::kTime ? groups_.DescribeUnit(c) : ""));
      break;
    }
  }
}

// Gives the runs of `members` their group or, if not `whole`, a group with only
// their rows.
void ColumnarRecords::HoldGroup(std::span<const WantedRun> members,
                                std::shared_ptr<const DecodedGroup> group,
                                bool whole, FirstBad& bad,
                                ReadScratch& read) const {
  const bool faulty = std::ranges::any_of(
      group->columns,
      [](const DecodedColumn& column) { return !column.faults.empty(); });
  for (const WantedRun& wanted : members) {
    if (faulty) FindFaults(wanted, *group, bad);
    read.runs[wanted.run] = {group.get(), wanted.first, wanted.count};
  }
  if (whole) {
    read.held.push_back(std::move(group));
    return;
  }
  std::vector<ColumnarRun> runs;
  for (const WantedRun& wanted : members) {
    runs.push_back(read.runs[wanted.run]);
  }
  std::vector<EncodedColumn> columns;
  CopyRuns(runs, groups_.fields(), columns);
  auto part = std::make_shared<DecodedGroup>();
  for (EncodedColumn& column : columns) {
    part->columns.push_back({column.Take(), {}});
  }
  for (const WantedRun& wanted : members) {
    read.runs[wanted.run] = {part.get(), part->rows, wanted.count};
    part->rows += wanted.count;
  }
  read.held.push_back(std::move(part));
}

// Decodes the groups of all runs, each once.
absl::Status ColumnarRecords::HoldGroups(FirstBad& bad,
                                         ReadScratch& read) const {
  const std::vector<WantedRun>& wanted = read.wanted;
  const auto place = [&](size_t k) {
    return std::pair(wanted[k].file, wanted[k].group);
  };
  size_t held = 0;
  for (size_t begin = 0, end = 0; begin < wanted.size(); begin = end) {
    const auto at = place(begin);
    size_t first_row = wanted[begin].row;
    while (end < wanted.size() && place(end) == at) {
      first_row = std::min(first_row, wanted[end++].row);
    }
    if (first_row >= bad.row) continue;
    auto group = groups_.Get(at.first, at.second);
    if (absl::IsDataLoss(group.status())) {
      bad.Note(first_row, group.status());
      continue;
    }
    FM_RETURN_IF_ERROR(group.status());
    if ((*group)->mapping != nullptr) {
      read.mapped.emplace_back(at.first, *group);
    }
    const size_t bytes = (*group)->bytes();
    if (guessed_bytes_ > 0 && (*group)->rows > 0 && !(*group)->replaced) {
      row_bytes_ = (*group)->row_bytes / (*group)->rows;
    }
    const bool whole = begin == 0 || held + bytes <= kHeldBytesMax;
    if (whole) held += bytes;
    HoldGroup(std::span(wanted).subspan(begin, end - begin), *std::move(group),
              whole, bad, read);
  }
  return absl::OkStatus();
}

// Cuts the runs to at most `rows` rows that take at most `bytes_max`, but at
// least one row. Returns the number of rows.
size_t ColumnarRecords::CutToFit(size_t rows, size_t bytes_max,
                                 ReadScratch& read) const {
  uint64_t bytes = 0;
  size_t taken = 0;
  for (size_t r = 0; r < read.runs.size(); ++r) {
    ColumnarRun& run = read.runs[r];
    run.count = std::min(run.count, rows - taken);
    for (size_t k = 0; k < run.count && guessed_bytes_ > 0; ++k) {
      for (const DecodedColumn& column : run.group->columns) {
        bytes += BytesOfRow(column.column, run.first + k);
      }
      if (bytes > bytes_max && taken + k > 0) {
        run.count = k;
        rows = taken + k;
      }
    }
    taken += run.count;
    if (taken == rows) {
      read.runs.resize(run.count == 0 ? r : r + 1);
      break;
    }
  }
  return taken;
}

// Counts the first `rows` rows of the block as taken from their groups.
void ColumnarRecords::CountTaken(size_t rows,
                                 std::span<const WantedRun> wanted) const {
  for (size_t k = 0; k < wanted.size();) {
    const WantedRun& first = wanted[k];
    size_t taken = 0;
    for (; k < wanted.size() && wanted[k].file == first.file &&
           wanted[k].group == first.group;
         ++k) {
      if (wanted[k].row >= rows) continue;
      taken += std::min(wanted[k].count, rows - wanted[k].row);
    }
    if (taken > 0) groups_.CountTaken(first.file, first.group, taken);
  }
}

// Reads the first rows as views of their group. Returns 0 if it cannot, or if
// the group is too small: the caller copies them then. The last rows of a
// larger group become views, however few: a read may begin just before them.
absl::StatusOr<size_t> ColumnarRecords::ReadViews(uint64_t first,
                                                  uint64_t count,
                                                  ReadScratch& read,
                                                  RecordBlock& out) const {
  read.wanted.clear();
  FirstBad bad{1};
  FM_RETURN_IF_ERROR(Want(first, count, 0, 0, bad, read));
  if (read.wanted.empty()) return size_t{0};
  const WantedRun& wanted = read.wanted[0];
  const auto group = groups_.Get(wanted.file, wanted.group);
  if (!group.ok() || !(*group)->views) return size_t{0};
  if (wanted.count < count && (*group)->row_bytes < kViewBytesMin) {
    return size_t{0};
  }
  out.error = absl::OkStatus();
  out.rows = wanted.count;
  out.columns.resize(groups_.fields().size());
  std::vector<Column> views =
      ViewRun({group->get(), wanted.first, wanted.count}, groups_.fields());
  for (size_t c = 0; c < views.size(); ++c) {
    out.columns[c].Show(std::move(views[c]), EncodedColumn::Memory::kMapped);
  }
  out.check_mapped = [this, file = wanted.file, kept = *group] {
    return groups_.CheckTaken(file, *kept);
  };
  CountTaken(out.rows, read.wanted);
  return out.rows;
}

// Checks the mapped groups whose rows were copied, once per file.
absl::Status ColumnarRecords::CheckTaken(const ReadScratch& read) const {
  for (size_t k = 0; k < read.mapped.size(); ++k) {
    const auto& [file, group] = read.mapped[k];
    if (k > 0 && file == read.mapped[k - 1].first) continue;
    FM_RETURN_IF_ERROR(groups_.CheckTaken(file, *group));
  }
  return absl::OkStatus();
}

template <class IndexOf>
absl::StatusOr<size_t> ColumnarRecords::ReadWanted(
    size_t runs, IndexOf index_of, size_t bytes_max, FirstBad& bad,
    ReadScratch& read, RecordBlock& out) const {
  out.error = absl::OkStatus();
  read.held.clear();
  read.mapped.clear();
  read.runs.assign(runs, {});
  FM_RETURN_IF_ERROR(HoldGroups(bad, read));
  out.rows = CutToFit(bad.row, bytes_max, read);
  CopyRuns(read.runs, groups_.fields(), out.columns);
  if (out.rows == bad.row && !bad.error.ok()) {
    out.error = Annotate(bad.error, Describe(index_of(bad.row), 0));
  }
  CountTaken(out.rows, read.wanted);
  const absl::Status sound = CheckTaken(read);
  read.held.clear();
  read.mapped.clear();
  FM_RETURN_IF_ERROR(sound);
  return out.rows;
}

}  // namespace

std::unique_ptr<const RecordSource> MakeColumnarRecords(
    const ColumnarReader& reader, const ColumnarReading& reading,
    const std::vector<SourceField>& fields, const std::vector<bool>& live,
    std::shared_ptr<const Manifest> manifest, const RowFilter& filter) {
  return std::make_unique<ColumnarRecords>(reader, reading, fields, live,
                                           std::move(manifest), filter);
}

}  // namespace feedmill
