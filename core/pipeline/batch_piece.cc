#include <algorithm>
#include <cstring>
#include <utility>

#include "core/base/byte_budget.h"
#include "core/base/status.h"
#include "core/pipeline/piece_draft.h"
#include "core/pipeline/record_reading.h"
#include "core/pipeline/stacking.h"

namespace feedmill {
namespace {

class BatchPiece {
 public:
  BatchPiece(const StageProgram& program, StageScratch& scratch,
             PieceDraft& draft)
      : program_(program),
        draft_(draft),
        scratch_(scratch),
        reading_(program, scratch) {}

  absl::Status Run() const;

 private:
  // Destinations of the records of one batch, by component.
  struct BatchTargets {
    std::vector<std::byte*> in_place;  // null: use `gathered`
    std::vector<size_t> row_bytes;
    std::unique_ptr<ChunkBuilder> gathered;
  };

  size_t BatchesTogether(uint64_t p, uint64_t records, bool alone) const;
  // Runs one or more whole batches that fit into one block. Returns false if
  // they do not fit or if one of them fails; then each batch has to be made
  // alone.
  absl::StatusOr<bool> RunBlockOfBatches(uint64_t p, size_t batches,
                                         uint64_t records) const;
  absl::Status RunOneBatch(uint64_t p, uint64_t records) const;
  BatchTargets TargetsOfBatch(uint64_t records) const;
  void AppendToBatch(size_t at, const BatchTargets& targets) const;
  absl::Status StackGathered(const Chunk& gathered, size_t records,
                             std::vector<Column>& out) const;
  bool FinishBatch(uint64_t p, uint64_t records, BatchTargets& targets) const;
  void FinishBatches(uint64_t p, size_t batches) const;
  // Ends the piece before the batch at position p, which begins with `first`.
  void FailBatch(uint64_t p, const absl::Status& status, size_t step,
                 const RecordRef& first) const;
  // The same for a batch that cannot be stacked or is too large.
  void FailBatch(uint64_t p, const absl::Status& status) const;

  const StageProgram& program_;
  PieceDraft& draft_;
  StageScratch& scratch_;
  const RecordReading reading_;
};

absl::Status BatchPiece::Run() const {
  uint64_t p = draft_.begin.p;
  const uint64_t begin = p;
  uint64_t alone_until =
      0;  // batches up to here failed together; make each alone
  while (p < draft_.end.p && (p == begin || !draft_.due()) && !draft_.failed) {
    scratch_.at = {p, 0};
    const uint64_t records = program_.plan->RecordsAt(scratch_.PlaceOf(p));
    if (const absl::Status fits =
            ByteBudget::Fits(records, program_.record_bytes);
        !fits.ok()) {
      FailBatch(p, fits);
      break;
    }
    const size_t batches = BatchesTogether(p, records, p < alone_until);
    reading_.Ask(p, p + batches);
    if (batches > 0 && batches * records <= scratch_.rows_max &&
        records <= kBlockRows && !program_.records->heavy() &&
        !program_.source->heavy()) {
      FM_ASSIGN_OR_RETURN(const bool done,
                          RunBlockOfBatches(p, batches, records));
      if (done) {
        p += batches;
        continue;
      }
      if (batches > 1) {
        alone_until = p + batches;
        continue;
      }
    }
    try {
      FM_RETURN_IF_ERROR(RunOneBatch(p, records));
    } catch (const MemoryRefused& refused) {
      // The records, or batches before this one, may have been too large
      // together.
      if (draft_.sink.rows() > 0 || scratch_.rows_max > 1 ||
          !refused.over_limit()) {
        throw;
      }
      draft_.sink.Clear();
      FailBatch(p, StatusOf(refused));
    }
    ++p;
  }
  if (!draft_.failed) draft_.end = {p, 0};
  return absl::OkStatus();
}

size_t BatchPiece::BatchesTogether(uint64_t p, uint64_t records,
                                   bool alone) const {
  if (alone || program_.records->heavy() || program_.batches->heavy() ||
      program_.source->heavy() || draft_.full()) {
    return 1;
  }
  const uint64_t left = draft_.end.p - p;
  const uint64_t most =
      std::max<uint64_t>(std::min(kBlockRows, scratch_.rows_max) / records, 1);
  const uint64_t wanted = std::min<uint64_t>(most, draft_.RowsAhead(left));
  size_t count = 1;
  while (count < wanted &&
         program_.plan->RecordsAt(scratch_.PlaceOf(p + count)) == records)
    ++count;
  return count;
}

absl::StatusOr<bool> BatchPiece::RunBlockOfBatches(uint64_t p, size_t batches,
                                                   uint64_t records) const {
  FM_ASSIGN_OR_RETURN(const size_t read, reading_.ReadAhead(0, kReadBytes));
  if (read < batches * records) return false;
  reading_.SetNames(p, 0, read);
  scratch_.records_in.direct.clear();
  FM_RETURN_IF_ERROR(reading_.RunSteps(0, read));
  if (!scratch_.records_out.error.ok()) return false;
  scratch_.groups.assign(batches, static_cast<size_t>(records));
  size_t failed = 0;
  if (!program_.stacker
           ->Stack(scratch_.records_out.columns, scratch_.groups,
                   scratch_.stacked, failed)
           .ok()) {
    return false;
  }
  FinishBatches(p, batches);
  return true;
}

// Runs scratch.stacked, batches from position p on, through the steps after the
// batch, and appends them to the chunk.
void BatchPiece::FinishBatches(uint64_t p, size_t batches) const {
  BlockProgram::Input& in = scratch_.batches_in;
  in.rows = batches;
  in.columns.clear();
  for (const Column& column : scratch_.stacked) in.columns.push_back(&column);
  scratch_.counters.clear();
  scratch_.passes.clear();
  if (program_.batches->random()) {
    const size_t records = scratch_.asked() / batches;
    for (size_t k = 0; k < batches; ++k) {
      scratch_.counters.push_back(
          {program_.plan->CounterOf(scratch_.PlaceOf(p + k), 0), 0});
      scratch_.passes.push_back(scratch_.RefAt(k * records).pass);
    }
  }
  in.counters = scratch_.counters;
  in.passes = scratch_.passes;
  BlockProgram::Output& out = scratch_.batches_out;
  program_.batches->Run(in, *scratch_.batches, out);
  draft_.sink.AddBatches();
  draft_.NameRows(out, p);
  if (out.error.ok()) return;
  const size_t bad = out.failed_row;
  const size_t records = scratch_.asked() / batches;
  FailBatch(p + bad, out.error, out.failed_step, scratch_.RefAt(bad * records));
}

BatchPiece::BatchTargets BatchPiece::TargetsOfBatch(uint64_t records) const {
  BatchTargets targets;
  for (size_t c = 0; c < program_.gathered.size(); ++c) {
    const ComponentSpec& component = program_.record_spec->components[c];
    if (program_.gathered[c]) {
      targets.in_place.push_back(nullptr);
      targets.row_bytes.push_back(0);
      continue;
    }
    Shape shape{static_cast<int64_t>(records)};
    shape.insert(shape.end(), component.shape.begin(), component.shape.end());
    targets.in_place.push_back(draft_.sink.copied().AppendRow(c, shape));
    targets.row_bytes.push_back(StaticBytes(component));
  }
  targets.gathered =
      std::make_unique<ChunkBuilder>(program_.gathered_spec, scratch_.blocks);
  return targets;
}

// Appends the output rows of the record program as records [at, …) of the
// batch.
void BatchPiece::AppendToBatch(size_t at, const BatchTargets& targets) const {
  const BlockProgram::Output& out = scratch_.records_out;
  const auto& direct = scratch_.records_in.direct;
  size_t g = 0;
  for (size_t c = 0; c < out.columns.size(); ++c) {
    if (targets.in_place[c] == nullptr) {
      targets.gathered->AppendRows(g++, *out.columns[c], 0, out.rows);
    } else if (direct.empty() || direct[c] == nullptr) {
      const size_t bytes = targets.row_bytes[c];
      if (bytes == 0) continue;
      std::memcpy(targets.in_place[c] + at * bytes,
                  out.columns[c]->values.data(), out.rows * bytes);
    }
  }
  targets.gathered->FinishRows(out.rows);
}

absl::Status BatchPiece::RunOneBatch(uint64_t p, uint64_t records) const {
  BatchTargets targets = TargetsOfBatch(records);
  const bool heavy = program_.records->heavy();
  size_t at = 0;
  while (at < records) {
    const size_t bytes = scratch_.rows_max == 1 ? 1 : kReadBytes;
    FM_ASSIGN_OR_RETURN(const size_t read, reading_.ReadAhead(at, bytes));
    reading_.SetNames(p, at, read);
    size_t step = 0;
    for (size_t row = 0; row < read; row += step) {
      step = reading_.RowsTogether(read - row);
      std::vector<std::byte*>& direct = scratch_.records_in.direct;
      direct.clear();
      for (size_t c = 0; heavy && c < targets.in_place.size(); ++c) {
        std::byte* const to = targets.in_place[c];
        direct.push_back(program_.records->direct()[c] && to != nullptr
                             ? to + (at + row) * targets.row_bytes[c]
                             : nullptr);
      }
      FM_RETURN_IF_ERROR(reading_.RunSteps(row, step));
      const BlockProgram::Output& out = scratch_.records_out;
      if (!out.error.ok()) {
        draft_.FailStep({p, 0}, out, scratch_.RefAt(at + row + out.failed_row),
                        0);
        return absl::OkStatus();
      }
      AppendToBatch(at + row, targets);
    }
    at += read;
    if (!scratch_.block.error.ok()) {
      draft_.Fail({p, 0}, scratch_.block, scratch_.RefAt(at));
      return absl::OkStatus();
    }
  }
  FinishBatch(p, records, targets);
  return absl::OkStatus();
}

// Makes one batch of all rows of the columns that are not written in place.
absl::Status BatchPiece::StackGathered(const Chunk& gathered, size_t records,
                                       std::vector<Column>& out) const {
  size_t failed = 0;
  if (program_.stacker->layout() != BatchLayout::kEqual) {
    std::vector<const Column*> columns;
    for (const Column& column : gathered.columns) columns.push_back(&column);
    return program_.stacker->Stack(columns, {&records, 1}, out, failed);
  }
  out.resize(gathered.columns.size());
  for (size_t g = 0; g < gathered.columns.size(); ++g) {
    const absl::Status status =
        StackRows(gathered.columns[g], {&records, 1}, out[g], failed);
    if (!status.ok()) {
      return OfComponent(status, gathered.spec->components[g].name);
    }
  }
  return absl::OkStatus();
}

bool BatchPiece::FinishBatch(uint64_t p, uint64_t records,
                             BatchTargets& targets) const {
  const Chunk gathered = std::move(*targets.gathered).Finish();
  const absl::Status status =
      StackGathered(gathered, static_cast<size_t>(records), scratch_.stacked);
  if (!status.ok()) {
    FailBatch(p, status);
    return false;
  }
  if (!program_.batches->empty()) {
    FinishBatches(p, 1);
    return !draft_.failed;
  }
  const BatchLayout layout = program_.stacker->layout();
  if (layout == BatchLayout::kEqual) {
    size_t g = 0;
    for (size_t c = 0; c < program_.gathered.size(); ++c) {
      if (!program_.gathered[c]) continue;
      draft_.sink.copied().AdoptRow(c, std::move(scratch_.stacked[g++]));
    }
  } else {
    for (size_t c = 0; c < scratch_.stacked.size(); ++c) {
      // Padded rows are in other memory than the chunk's.
      if (layout == BatchLayout::kPadded) {
        draft_.sink.copied().AppendRows(c, scratch_.stacked[c], 0, 1);
      } else {
        draft_.sink.copied().AdoptRow(c, std::move(scratch_.stacked[c]));
      }
    }
  }
  draft_.sink.copied().FinishRows(1);
  if (program_.naming == StageProgram::Naming::kBitmap) {
    const uint64_t bit = p - draft_.begin.p;
    draft_.bits.resize(bit / 8 + 1);
    draft_.bits[bit / 8] |= static_cast<uint8_t>(1U << (bit % 8));
  }
  return true;
}

void BatchPiece::FailBatch(uint64_t p, const absl::Status& status, size_t step,
                           const RecordRef& first) const {
  draft_.Fail(
      {p, 0},
      {.error = Annotate(
           program_.AtRecord(status, step, first, 0),
           fmt::format("batch {}, which begins with",
                       program_.plan->WholePosition(scratch_.PlaceOf(p)))),
       .failed_after = step + 1},
      first);
}

void BatchPiece::FailBatch(uint64_t p, const absl::Status& status) const {
  FailBatch(p, status, program_.batch_step,
            program_.plan->Record(scratch_.PlaceOf(p), 0));
}

}  // namespace

absl::Status MakeFromBatches(const StageProgram& program, StageScratch& scratch,
                             PieceDraft& draft) {
  return BatchPiece(program, scratch, draft).Run();
}

}  // namespace feedmill
