#include "core/pipeline/record_reading.h"

#include <algorithm>
#include <chrono>
#include <span>

#include "core/base/status.h"
#include "core/io/read_stop.h"
#include "core/pipeline/read_profile.h"

namespace feedmill {
namespace {

// Profiles a read and counts its rows and bytes.
class ReadSpan {
 public:
  ReadSpan(InputBlock& block, size_t place)
      : block_(block), place_(place), span_(place) {}
  ~ReadSpan() {
    if (!span_) [[likely]]
      return;
    ReadProfile::Cost& cost = span_->At(place_);
    cost.rows_out += block_.dropped ? block_.origins.size() : block_.rows;
    // Without rows there are no columns: an input whose first record is bad has
    // made none.
    if (block_.rows == 0) return;
    for (EncodedColumn& column : block_.columns) {
      cost.bytes_out += column.View().values.size();
    }
  }
  ReadSpan(const ReadSpan&) = delete;
  ReadSpan& operator=(const ReadSpan&) = delete;

 private:
  InputBlock& block_;
  const size_t place_;
  const ProfileSpan span_;
};

}  // namespace

void RecordReading::Ask(uint64_t begin, uint64_t end) const {
  scratch_.run.count = 0;
  scratch_.refs.clear();
  // If there is a list of places, ask for each run of consecutive places in it.
  while (!scratch_.places.empty() && begin < end) {
    const uint64_t first = scratch_.places[begin];
    uint64_t run = 1;
    while (begin + run < end && scratch_.places[begin + run] == first + run) {
      ++run;
    }
    if (run == end - begin && scratch_.refs.empty()) {
      AskRun(first, first + run);
    } else {
      program_.plan->Records(first, first + run, scratch_.refs);
    }
    begin += run;
  }
  if (begin < end) AskRun(begin, end);
}

void RecordReading::AskRun(uint64_t begin, uint64_t end) const {
  scratch_.run = program_.plan->RunAt(begin, end);
  const uint64_t each =
      program_.batches == nullptr ? 1 : program_.plan->RecordsAt(begin);
  if (scratch_.run.count >= (end - begin) * each) return;
  scratch_.run.count = 0;
  program_.plan->Records(begin, end, scratch_.refs);
}

void RecordReading::SetNames(uint64_t p, size_t from, size_t count) const {
  scratch_.counters.clear();
  scratch_.passes.clear();
  if (!program_.records->random()) return;
  const uint64_t each = program_.batches == nullptr
                            ? 1
                            : program_.plan->RecordsAt(scratch_.PlaceOf(p));
  const auto name = [&](size_t k) {
    const uint64_t place = scratch_.PlaceOf(p + k / each);
    scratch_.counters.push_back({program_.plan->CounterOf(place, k % each), 0});
    scratch_.passes.push_back(scratch_.RefAt(k).pass);
  };
  if (scratch_.block.dropped) {
    for (const uint32_t origin : scratch_.block.origins) name(from + origin);
    return;
  }
  for (size_t k = from; k < from + count; ++k) name(k);
}

absl::StatusOr<size_t> RecordReading::ReadAhead(size_t from,
                                                size_t bytes) const {
  const ReadSpan span(scratch_.block, program_.source_place);
  try {
    return ReadRecords(from, bytes);
  } catch (const MemoryRefused& refused) {
    // Several records may only be too large together.
    if ((bytes > 1 && scratch_.asked() - from > 1) || !refused.over_limit()) {
      throw;
    }
    FailReading(refused, scratch_.RefAt(from), 0);
    return size_t{0};
  }
}

// Treats the next row of the source, which is too large, as a bad row.
void RecordReading::FailReading(const MemoryRefused& refused,
                                const RecordRef& ref, uint64_t row) const {
  scratch_.source = program_.source->NewScratch();
  scratch_.block.Clear();
  scratch_.block.error =
      Annotate(StatusOf(refused), program_.source->Describe(ref, row));
}

absl::StatusOr<size_t> RecordReading::ReadRecords(size_t from,
                                                  size_t bytes) const {
  InputBlock& block = scratch_.block;
  if (scratch_.run.count == 0) {
    const std::span<const RecordRef> refs(scratch_.refs);
    FM_RETURN_IF_ERROR(
        program_.source
            ->Read(refs.subspan(from), bytes, *scratch_.source, block)
            .status());
  } else {
    RecordRun rest = scratch_.run;
    rest.first.index += from;
    rest.count -= from;
    FM_RETURN_IF_ERROR(
        program_.source->ReadRun(rest, bytes, *scratch_.source, block)
            .status());
  }
  if (block.mapped()) block.Cut(std::max(bytes, scratch_.view_bytes_max));
  FM_RETURN_IF_ERROR(MakePlain());
  return block.rows;
}

// Makes the columns plain that the steps do not take as they are. A profile
// counts the bytes of the source's items, so it needs them in memory.
absl::Status RecordReading::MakePlain() const {
  std::span<const Encoding::Kinds> taken = program_.records->takes();
  if (ReadProfile::Lane::Current() != nullptr) taken = {};
  return scratch_.block.MakePlain(taken, scratch_.view_bytes_max > 0);
}

absl::StatusOr<bool> RecordReading::ReadBlock(uint64_t row,
                                              size_t bytes) const {
  const ReadSpan span(scratch_.block, program_.source_place);
  try {
    FM_ASSIGN_OR_RETURN(const bool more, program_.source->ReadBlock(
                                             scratch_.refs[0], row, bytes,
                                             *scratch_.source, scratch_.block));
    FM_RETURN_IF_ERROR(MakePlain());
    return more;
  } catch (const MemoryRefused& refused) {
    if (bytes > 1 || !refused.over_limit()) throw;
    FailReading(refused, scratch_.refs[0], row);
    scratch_.block.ends_block = true;  // the end of the block is unknown
    return false;
  }
}

size_t RecordReading::RowsTogether(size_t left) const {
  const BlockProgram& records = *program_.records;
  size_t most = std::min(left, scratch_.rows_max);
  if (!records.empty()) most = std::min(most, records.rows_together());
  if (records.paced()) most = std::min(most, scratch_.pace.rows());
  return std::max<size_t>(most, 1);
}

absl::Status RecordReading::RunSteps(size_t first, size_t count) const {
  if (ReadStop::Asked()) return Cancelled("these elements are not needed");
  if (count == 0 || !program_.records->paced()) {
    RunRows(first, count);
    return absl::OkStatus();
  }
  const auto begin = std::chrono::steady_clock::now();
  RunRows(first, count);
  scratch_.pace.Observe(count, std::chrono::steady_clock::now() - begin);
  return absl::OkStatus();
}

void RecordReading::RunRows(size_t first, size_t count) const {
  BlockProgram::Input& in = scratch_.records_in;
  InputBlock& block = scratch_.block;
  size_t begin = first;
  size_t end = first + count;
  size_t all = block.rows;
  if (block.dropped) {  // translate to the rows that are present
    const auto& origins = block.origins;
    const auto at = [&origins](size_t row) {
      return static_cast<size_t>(
          std::lower_bound(origins.begin(), origins.end(), row) -
          origins.begin());
    };
    begin = at(begin);
    end = at(end);
    all = origins.size();
  }
  in.rows = end - begin;
  in.numbered = program_.naming == StageProgram::Naming::kRuns || block.dropped;
  in.columns.clear();
  const bool whole = in.rows == all;
  scratch_.slices.clear();
  scratch_.slices.reserve(block.columns.size());
  for (EncodedColumn& column : block.columns) {
    in.columns.push_back(column.Encoded());
    if (whole) continue;
    in.columns.back() =
        in.columns.back().Slice(begin, end, scratch_.slices.emplace_back());
  }
  in.counters = scratch_.counters;
  in.passes = scratch_.passes;
  if (!scratch_.counters.empty()) {
    in.counters = in.counters.subspan(begin, in.rows);
    in.passes = in.passes.subspan(begin, in.rows);
  }
  if (in.rows == 0 && count > 0) {
    scratch_.records_out = {};
  } else {
    program_.records->Run(in, *scratch_.records, scratch_.records_out);
  }
  if (block.dropped) Widen(first, count, begin);
}

// Translates records_out to row numbers of the block, [first, first + count).
// Only some of these rows were present; the first that entered the program was
// present row `begin`.
void RecordReading::Widen(size_t first, size_t count, size_t begin) const {
  BlockProgram::Output& out = scratch_.records_out;
  const std::vector<uint32_t>& there = scratch_.block.origins;
  scratch_.origins.clear();
  scratch_.kept.assign((count + 63) / 64, 0);
  for (size_t row = 0; row < out.rows; ++row) {
    const size_t origin = there[begin + out.OriginOf(row)] - first;
    scratch_.origins.push_back(static_cast<uint32_t>(origin));
    scratch_.kept[origin / 64] |= uint64_t{1} << origin % 64;
  }
  if (!out.error.ok()) out.failed_row = there[begin + out.failed_row] - first;
  out.origins = scratch_.origins;
  out.kept = scratch_.kept;
  out.dropped = true;
}

}  // namespace feedmill
