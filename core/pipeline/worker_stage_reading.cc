// The worker stage: chooses how much to read at once, and reads records.

#include <algorithm>
#include <span>

#include "core/base/status.h"
#include "core/dataset/source_types.h"
#include "core/pipeline/compiled_stage.h"
#include "core/pipeline/read_profile.h"

namespace feedmill {
namespace {

// More bytes than any element has.
constexpr size_t kMost = size_t{1} << 60;

// Bytes of cheap rows that are made ahead: a fraction of a cache that threads
// share.
constexpr size_t kCheapAheadBytes = size_t{4} << 20;

// Profiles a read and counts its rows and bytes.
class ReadSpan {
 public:
  ReadSpan(const InputBlock& block, size_t place)
      : block_(block), place_(place), span_(place) {}
  ~ReadSpan() {
    if (!span_) [[likely]]
      return;
    ReadProfile::Cost& cost = span_->At(place_);
    cost.rows_out += block_.dropped ? block_.origins.size() : block_.rows;
    // Without rows there are no columns: an input whose first record is bad has
    // made none.
    if (block_.rows == 0) return;
    for (const Column* const column : block_.columns) {
      cost.bytes_out += column->values.size();
    }
  }
  ReadSpan(const ReadSpan&) = delete;
  ReadSpan& operator=(const ReadSpan&) = delete;

 private:
  const InputBlock& block_;
  const size_t place_;
  const ProfileSpan span_;
};

}  // namespace

void CompiledStage::Estimate(const Manifest& manifest) {
  heavy_ = record_program_->heavy() || naming_ == Naming::kRuns ||
           (batch_program_ != nullptr && batch_program_->heavy()) ||
           source_->heavy();
  if (plan_->graph().source.streamed) return;  // a position is a whole pass
  // If positions are whole files, there is no bound: it would keep threads from
  // other files.
  if (!rows_heavy() && PropertiesOf(plan_->graph().graph.source).positions !=
                           Positions::kFiles) {
    ahead_bytes_ = kCheapAheadBytes;
  }
  size_t record_bytes = 0;
  if (manifest.TotalRecords() > 0) {
    record_bytes =
        static_cast<size_t>(manifest.TotalBytes() / manifest.TotalRecords());
  }
  if (!heavy_ && record_bytes > 0) {
    together_ = std::min<uint64_t>(
        {plan_->read_together(), kTogetherBytes / record_bytes, kBlockRows});
    together_ = std::max<uint64_t>(together_, 1);
    together_bytes_ = static_cast<size_t>(together_) * record_bytes * 9 / 8;
  }
  size_t total = 0;
  for (const ComponentSpec& component : record_spec_->components) {
    if (component.dtype == DType::kBytes) {
      total += record_bytes;
    } else if (component.IsStatic()) {
      total += StaticBytes(component);
    } else {
      return;  // unknown
    }
  }
  if (batch_program_ != nullptr) {
    const auto records = static_cast<size_t>(
        plan_->size() > 0 ? plan_->RecordsAt(0) : uint64_t{1});
    if (__builtin_mul_overflow(total, records, &total) || total > kMost) {
      total = kMost;  // making it will be an error
    }
  }
  estimated_bytes_ = total;
}

// Finds the records of positions [begin, end): a run if all of them are
// consecutive, otherwise a list.
void CompiledStage::Ask(uint64_t begin, uint64_t end,
                        StageScratch& scratch) const {
  scratch.run.count = 0;
  scratch.refs.clear();
  // If there is a list of places, ask for each run of consecutive places in it.
  while (!scratch.places.empty() && begin < end) {
    const uint64_t first = scratch.places[begin];
    uint64_t run = 1;
    while (begin + run < end && scratch.places[begin + run] == first + run) {
      ++run;
    }
    if (run == end - begin && scratch.refs.empty()) {
      AskRun(first, first + run, scratch);
    } else {
      plan_->Records(first, first + run, scratch.refs);
    }
    begin += run;
  }
  if (begin < end) AskRun(begin, end, scratch);
}

void CompiledStage::AskRun(uint64_t begin, uint64_t end,
                           StageScratch& scratch) const {
  scratch.run = plan_->RunAt(begin, end);
  const uint64_t each = batch_program_ == nullptr ? 1 : plan_->RecordsAt(begin);
  if (scratch.run.count >= (end - begin) * each) return;
  scratch.run.count = 0;
  plan_->Records(begin, end, scratch.refs);
}

// Sets the counters, for random steps, of requested records [from, from +
// count). The request begins at position p.
void CompiledStage::SetNames(uint64_t p, size_t from, size_t count,
                             StageScratch& scratch) const {
  scratch.counters.clear();
  scratch.passes.clear();
  if (!record_program_->random()) return;
  const uint64_t each =
      batch_program_ == nullptr ? 1 : plan_->RecordsAt(scratch.PlaceOf(p));
  const auto name = [&](size_t k) {
    const uint64_t place = scratch.PlaceOf(p + k / each);
    scratch.counters.push_back({plan_->CounterOf(place, k % each), 0});
    scratch.passes.push_back(scratch.RefAt(k).pass);
  };
  if (scratch.block.dropped) {
    for (const uint32_t origin : scratch.block.origins) name(from + origin);
    return;
  }
  for (size_t k = from; k < from + count; ++k) name(k);
}

// Reads requested records from index `from` on, in one read of about `bytes`.
absl::StatusOr<size_t> CompiledStage::ReadAhead(size_t from, size_t bytes,
                                                StageScratch& scratch) const {
  const ReadSpan span(scratch.block, source_place_);
  try {
    return ReadRecords(from, bytes, scratch);
  } catch (const MemoryRefused& refused) {
    // Several records may only be too large together.
    if ((bytes > 1 && scratch.asked() - from > 1) || !refused.over_limit()) {
      throw;
    }
    FailReading(refused, scratch.RefAt(from), 0, scratch);
    return size_t{0};
  }
}

// Treats the next row of the source, which is too large, as a bad row.
void CompiledStage::FailReading(const MemoryRefused& refused,
                                const RecordRef& ref, uint64_t row,
                                StageScratch& scratch) const {
  scratch.source = source_->NewScratch();
  std::shared_ptr<BlockSource> blocks = std::move(scratch.block.blocks);
  scratch.block = InputBlock();
  scratch.block.blocks = std::move(blocks);
  scratch.block.error =
      Annotate(StatusOf(refused), source_->Describe(ref, row));
}

absl::StatusOr<size_t> CompiledStage::ReadRecords(size_t from, size_t bytes,
                                                  StageScratch& scratch) const {
  scratch.block.progression.reset();
  if (scratch.run.count > 0) {
    RecordRun rest = scratch.run;
    rest.first.index += from;
    rest.count -= from;
    scratch.block.takes_trailing = record_program_->takes_trailing();
    scratch.block.takes_progression = record_program_->takes_progression() &&
                                      ReadProfile::Lane::Current() == nullptr;
    return source_->ReadRun(rest, bytes, *scratch.source, scratch.block);
  }
  scratch.block.trailing = 0;
  const std::span<const RecordRef> refs(scratch.refs);
  return source_->Read(refs.subspan(from), bytes, *scratch.source,
                       scratch.block);
}

// Reads more of the requested block, from its row `row` on.
absl::StatusOr<bool> CompiledStage::ReadBlock(uint64_t row, size_t bytes,
                                              StageScratch& scratch) const {
  const ReadSpan span(scratch.block, source_place_);
  try {
    return source_->ReadBlock(scratch.refs[0], row, bytes, *scratch.source,
                              scratch.block);
  } catch (const MemoryRefused& refused) {
    if (bytes > 1 || !refused.over_limit()) throw;
    FailReading(refused, scratch.refs[0], row, scratch);
    scratch.block.ends_block = true;  // the end of the block is unknown
    return false;
  }
}

}  // namespace feedmill
