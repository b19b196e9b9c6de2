#include "core/sources/columnar_groups.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <span>

#include "core/base/status.h"
#include "core/chunk/buffer_builder.h"
#include "core/chunk/validity.h"
#include "core/io/file_errors.h"
#include "core/sources/record_decoder.h"
#include "core/sources/repeated_value.h"

namespace feedmill {
namespace {

// Parsed footers that are kept; footers of wide files take megabytes.
constexpr size_t kOpenColumnarMax = 64;
// A group's rows may be views if its memory is at most this part of its mapped
// bytes: a view keeps the whole group.
constexpr size_t kMemoryPerMapped = 8;

// Returns the bytes of a column's rows.
size_t BytesOf(const DecodedColumn& decoded) {
  const Column& column = decoded.column;
  return column.values.size() + column.offsets.size() +
         column.row_starts.size() + decoded.faults.size();
}

// Sets what DecodedGroup says about its columns.
void Summarize(const ColumnarFile& file, DecodedGroup& group) {
  size_t mapped = 0;
  bool faulty = false;
  for (const DecodedColumn& column : group.columns) {
    group.row_bytes += BytesOf(column);
    if (column.mapped) mapped += column.column.values.size();
    faulty = faulty || !column.faults.empty();
  }
  group.size = group.row_bytes - mapped;
  if (mapped == 0) return;
  // Without this, the cache would keep any number of groups.
  group.size += group.columns.size() * sizeof(DecodedColumn);
  group.mapping = file.mapping();
  group.views = !faulty && group.size <= mapped / kMemoryPerMapped;
}

// Prefixes an error about the data of a group with the group's number.
absl::Status OfGroup(const absl::Status& status, ColumnarFormat format,
                     size_t group) {
  if (!absl::IsInvalidArgument(status) && !absl::IsDataLoss(status) &&
      !absl::IsResourceExhausted(status)) {
    return status;
  }
  const bool parquet = format == ColumnarFormat::kParquet;
  return absl::Status(
      absl::IsInvalidArgument(status) ? absl::StatusCode::kDataLoss
                                      : status.code(),
      fmt::format("{} {}: {}", parquet ? "row group" : "record batch", group,
                  ErrorText(status)));
}

// Returns the column of a file, or null.
const ColumnarColumn* FindColumn(const ColumnarFile& file,
                                 const std::string& name) {
  for (const ColumnarColumn& column : file.columns()) {
    if (column.field.name == name) return &column;
  }
  return nullptr;
}

// Moves the nulls of a column from its faults to a column of their own.
DecodedColumn TakeValidity(DecodedColumn& column, size_t rows) {
  BufferBuilder valid(rows);
  std::memset(valid.Extend(rows), 1, rows);
  bool faulty = false;
  for (size_t k = 0; k < column.faults.size(); ++k) {
    if (column.faults[k] == RowFault::kNull) {
      valid.data()[k] = std::byte{0};
      column.faults[k] = RowFault::kNone;
    }
    faulty = faulty || column.faults[k] != RowFault::kNone;
  }
  if (!faulty) column.faults.clear();
  return {Column{DType::kBool, {}, std::move(valid).Freeze(), {}, {}, {}}};
}

std::string UnitText(int64_t nanos) {
  switch (nanos) {
    case 1:
      return "nanoseconds";
    case 1'000:
      return "microseconds";
    case 1'000'000:
      return "milliseconds";
    case 1'000'000'000:
      return "seconds";
    default:
      return "days";
  }
}

// Returns the meaning of a column's numbers, for errors.
std::string MeaningOf(const std::vector<TimeType>& times) {
  if (times.empty()) return "no time";
  std::vector<std::string> texts;
  for (const TimeType& time : times) {
    texts.push_back(
        fmt::format("{} in {}",
                    time.kind == TimeType::Kind::kInstant ? "a point in time"
                    : time.kind == TimeType::Kind::kTimeOfDay ? "a time of day"
                                                              : "a duration",
                    UnitText(time.nanos)));
  }
  return fmt::format("{}", fmt::join(texts, " and "));
}

}  // namespace

absl::StatusOr<ColumnarGroups::OpenedFile> ColumnarGroups::Open(
    size_t file) const {
  {
    const std::lock_guard lock(mutex_);
    for (auto at = opened_.begin(); at != opened_.end(); ++at) {
      if (at->first != file) continue;
      opened_.splice(opened_.begin(), opened_, at);
      return opened_.front().second;
    }
  }
  FM_ASSIGN_OR_RETURN(const auto opened, files_.Open(file));
  auto parsed = reader_.Open(reading_.format, opened, files_.info(file).size,
                             reading_.memory_map);
  FM_RETURN_IF_ERROR(files_.Check(file, *opened));
  FM_RETURN_IF_ERROR(NameFile(parsed.status(), files_.info(file).path));
  OpenedFile shared = *std::move(parsed);
  auto starts = std::make_shared<std::vector<uint64_t>>(1, 0);
  for (const uint64_t rows : shared->group_rows()) {
    starts->push_back(starts->back() + rows);
  }
  if (starts->back() != files_.info(file).records) return files_.Changed(file);
  const std::lock_guard lock(mutex_);
  starts_[file] = std::move(starts);
  opened_.emplace_front(file, shared);
  if (opened_.size() > kOpenColumnarMax) opened_.pop_back();
  return shared;
}

absl::StatusOr<ColumnarGroups::Starts> ColumnarGroups::StartsOf(
    size_t file) const {
  {
    const std::lock_guard lock(mutex_);
    const auto found = starts_.find(file);
    if (found != starts_.end()) return found->second;
  }
  FM_RETURN_IF_ERROR(Open(file).status());
  const std::lock_guard lock(mutex_);
  return starts_[file];
}

FieldPlaces ColumnarGroups::PlacesOf(size_t file,
                                     const ColumnarFile& opened) const {
  FieldPlaces places;
  places.of_path.resize(fields_.size());
  const auto partitions = reading_.partitions
                              ? PartitionsOf(files_.info(file).path)
                              : std::vector<PathPartition>();
  for (size_t f = 0; f < fields_.size(); ++f) {
    if (IsValidityField(f)) continue;
    const auto found =
        std::ranges::find(partitions, fields_[f].name, &PathPartition::key);
    if (found == partitions.end() ||
        FindColumn(opened, fields_[f].name) != nullptr) {
      places.of_file.push_back(
          {.field = fields_[f], .nullable = MayBeNull(std::span(fields_), f)});
    } else {
      places.of_path[f] = *found;
    }
  }
  return places;
}

// Returns the times of a field. REQUIRES: `file` has it.
absl::StatusOr<FieldTimes> ColumnarGroups::TimesOf(const std::string& name,
                                                   size_t file) const {
  {
    const std::lock_guard lock(mutex_);
    const auto known = times_.find(name);
    if (known != times_.end()) return known->second;
  }
  FieldTimes found;
  for (; found.file <= file; ++found.file) {
    FM_ASSIGN_OR_RETURN(const OpenedFile opened, Open(found.file));
    const ColumnarColumn* const column = FindColumn(*opened, name);
    if (column == nullptr) continue;
    found.times = column->times;
    break;
  }
  const std::lock_guard lock(mutex_);
  times_[name] = found;
  return found;
}

// Sets the units of times. InvalidArgument if a column has times of other kinds
// than in the first file that has it.
absl::Status ColumnarGroups::SetTimes(size_t file, const ColumnarFile& opened,
                                      FieldPlaces& places) const {
  for (ColumnarColumn& wanted : places.of_file) {
    const std::string& name = wanted.field.name;
    const ColumnarColumn* const own = FindColumn(opened, name);
    if (own == nullptr) continue;  // ReadGroup says so
    FM_ASSIGN_OR_RETURN(const FieldTimes first, TimesOf(name, file));
    if (!std::ranges::equal(own->times, first.times, {}, &TimeType::kind,
                            &TimeType::kind)) {
      return InvalidArgument(
          "the column \"{}\" is {} here, where it is {} in {}; write it with "
          "one type, or read the files by two sources",
          Shown(name), MeaningOf(own->times), MeaningOf(first.times),
          files_.info(first.file).path);
    }
    wanted.times = first.times;
  }
  return absl::OkStatus();
}

std::string ColumnarGroups::DescribeUnit(size_t field) const {
  const std::lock_guard lock(mutex_);
  const FieldTimes& first = times_[fields_[field].name];
  std::vector<std::string> units;
  for (const TimeType& time : first.times) {
    units.push_back(UnitText(time.nanos));
  }
  return fmt::format("{}, as in {}", fmt::join(units, " and "),
                     files_.info(first.file).path);
}

// Returns the number of rows of a group from its beginning that are read.
uint64_t ColumnarGroups::RowsToRead(size_t file, size_t group,
                                    const ColumnarFile& opened) const {
  const auto before = std::span(opened.group_rows()).first(group);
  const uint64_t first =
      std::accumulate(before.begin(), before.end(), files_.FirstRecordOf(file));
  const uint64_t rows = opened.group_rows()[group];
  const uint64_t needed = filter_.end() - std::min(first, filter_.end());
  return needed < rows / 2 ? needed : rows;
}

absl::StatusOr<std::vector<DecodedColumn>> ColumnarGroups::ReadColumns(
    const FieldPlaces& places, size_t group, size_t rows,
    const ColumnarFile& opened) const {
  std::vector<DecodedColumn> read;
  if (!places.of_file.empty()) {
    FM_ASSIGN_OR_RETURN(read, opened.ReadGroup(group, places.of_file, rows));
  }
  std::vector<DecodedColumn> columns;
  size_t next = 0;
  for (size_t f = 0; f < fields_.size(); ++f) {
    if (IsValidityField(f)) {
      columns.push_back(TakeValidity(columns.back(), rows));
    } else if (!places.of_path[f]) {
      columns.push_back(std::move(read[next++]));
    } else {
      FM_ASSIGN_OR_RETURN(columns.emplace_back(),
                          PartitionColumn(*places.of_path[f], f, rows));
    }
  }
  return columns;
}

absl::StatusOr<DecodedColumn> ColumnarGroups::PartitionColumn(
    const PathPartition& partition, size_t field, size_t rows) const {
  if (partition.value || !MayBeNull(std::span(fields_), field)) {
    return ColumnOf(partition, fields_[field], rows);
  }
  return DecodedColumn{RepeatedValue(fields_[field], nullptr, rows),
                       std::vector<RowFault>(rows, RowFault::kNull)};
}

bool ColumnarGroups::IsValidityField(size_t field) const {
  return IsValidity(std::span(fields_), field);
}

std::vector<ColumnStatistics> ColumnarGroups::Statistics(
    const FieldPlaces& places, size_t group, const ColumnarFile& opened) const {
  const auto of_file = opened.StatisticsOf(group, places.of_file);
  std::vector<ColumnStatistics> all;
  size_t next = 0;
  for (size_t f = 0; f < fields_.size(); ++f) {
    if (IsValidityField(f)) {
      all.push_back({.faultless = true});
      continue;
    }
    if (!places.of_path[f]) {
      all.push_back(of_file[next++]);
      continue;
    }
    const auto value = PartitionColumn(*places.of_path[f], f, 1);
    ColumnStatistics& statistics = all.emplace_back();
    statistics.faultless = value.ok();
    if (value.ok()) statistics.range = OneValue(value->column);
  }
  return all;
}

// Makes the group of rows that fail the filter if the statistics show that all
// rows of the file's group do. Returns false if any might pass, or might be a
// data error.
bool ColumnarGroups::Replace(const FieldPlaces& places,
                             const ColumnarFile& opened, size_t group,
                             DecodedGroup& out) const {
  if (filter_.empty()) return false;
  const auto statistics = Statistics(places, group, opened);
  if (!std::ranges::all_of(statistics, &ColumnStatistics::faultless)) {
    return false;
  }
  std::vector<std::optional<ValueRange>> ranges;
  for (const ColumnStatistics& of_column : statistics) {
    ranges.push_back(of_column.range);
  }
  if (filter_.MayPass(fields_, ranges)) return false;
  for (size_t f = 0; f < fields_.size(); ++f) {
    // Without a range, any value fails.
    const Expr::Literal* value = ranges[f] ? &ranges[f]->low : nullptr;
    out.columns.push_back({RepeatedValue(fields_[f], value, out.rows), {}});
  }
  out.replaced = true;
  return true;
}

absl::StatusOr<std::shared_ptr<const DecodedGroup>> ColumnarGroups::Decode(
    size_t file, size_t group) const {
  FM_ASSIGN_OR_RETURN(const OpenedFile opened, Open(file));
  auto decoded = std::make_shared<DecodedGroup>();
  decoded->rows = static_cast<size_t>(RowsToRead(file, group, *opened));
  if (fields_.empty()) return decoded;
  FieldPlaces places = PlacesOf(file, *opened);
  const absl::Status same = SetTimes(file, *opened, places);
  if (!same.ok()) return OfGroup(same, reading_.format, group);
  if (!Replace(places, *opened, group, *decoded)) {
    auto columns = ReadColumns(places, group, decoded->rows, *opened);
    FM_ASSIGN_OR_RETURN(const auto bytes, files_.Open(file));
    FM_RETURN_IF_ERROR(files_.Check(file, *bytes));
    if (!columns.ok()) {
      const absl::Status error =
          OfGroup(columns.status(), reading_.format, group);
      return absl::IsResourceExhausted(error)
                 ? Annotate(error, files_.info(file).path)
                 : error;
    }
    decoded->columns = *std::move(columns);
  }
  Summarize(*opened, *decoded);
  return decoded;
}

void ColumnarGroups::CountTaken(size_t file, size_t group, size_t rows) const {
  const auto decoded = groups_.Find({file, group});
  if (decoded == nullptr) return;
  const size_t taken = decoded->taken.fetch_add(rows) + rows;
  if (taken >= decoded->rows && groups_.bytes() > kTakenBytesMax) {
    groups_.Drop({file, group}, decoded.get());
  }
}

absl::StatusOr<std::shared_ptr<const DecodedGroup>> ColumnarGroups::Get(
    size_t file, size_t group) const {
  const auto decode = [&] { return Decode(file, group); };
  auto got = groups_.Get({file, group}, decode);
  if (!got.ok() || (*got)->sound()) return got;
  groups_.Drop({file, group}, got->get());
  return groups_.Get({file, group}, decode);
}

absl::Status ColumnarGroups::CheckTaken(size_t file,
                                        const DecodedGroup& group) const {
  if (group.mapping == nullptr) return absl::OkStatus();
  FM_ASSIGN_OR_RETURN(const auto opened, files_.Open(file));
  FM_RETURN_IF_ERROR(files_.Check(file, *opened));
  if (group.sound()) return absl::OkStatus();
  return Unavailable("{}: a part of the mapped file could not be read",
                     files_.info(file).path);
}

}  // namespace feedmill
