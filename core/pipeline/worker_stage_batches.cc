#include <algorithm>
#include <cstring>
#include <utility>

#include "core/base/status.h"
#include "core/pipeline/compiled_stage.h"
#include "core/pipeline/stacking.h"

namespace feedmill {

absl::Status CompiledStage::RunBatches(Making& making,
                                       StageScratch& scratch) const {
  uint64_t p = making.begin.p;
  bool first = true;
  uint64_t alone_until =
      0;  // batches up to here failed together; make each alone
  while (p < making.end.p && (first || !making.full()) && !making.failed) {
    first = false;
    scratch.at = {p, 0};
    const uint64_t records = plan_->RecordsAt(scratch.PlaceOf(p));
    if (const absl::Status fits = ByteBudget::Fits(records, record_bytes_);
        !fits.ok()) {
      FailBatch(p, fits, making, scratch);
      break;
    }
    const size_t batches =
        BatchesTogether(p, records, p < alone_until, making, scratch);
    Ask(p, p + batches, scratch);
    if (batches > 0 && batches * records <= RowsTogether::Max() &&
        records <= kBlockRows && !record_program_->heavy() &&
        !source_->heavy()) {
      FM_ASSIGN_OR_RETURN(
          const bool done,
          RunBlockOfBatches(p, batches, records, making, scratch));
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
      FM_RETURN_IF_ERROR(RunOneBatch(p, records, making, scratch));
    } catch (const MemoryRefused& refused) {
      // The records, or batches before this one, may have been too large
      // together.
      if (making.rows() > 0 || RowsTogether::Max() > 1 ||
          !refused.over_limit()) {
        throw;
      }
      making.builder = ChunkBuilder(output_, scratch.blocks);
      FailBatch(p, StatusOf(refused), making, scratch);
    }
    ++p;
  }
  if (!making.failed) making.end = {p, 0};
  return absl::OkStatus();
}

size_t CompiledStage::BatchesTogether(uint64_t p, uint64_t records, bool alone,
                                      const Making& making,
                                      const StageScratch& scratch) const {
  if (alone || record_program_->heavy() || batch_program_->heavy() ||
      source_->heavy() || making.full()) {
    return 1;
  }
  const uint64_t left = making.end.p - p;
  const uint64_t most = std::max<uint64_t>(
      std::min(kBlockRows, RowsTogether::Max()) / records, 1);
  const uint64_t wanted =
      std::min<uint64_t>(most, RowsAhead(making, scratch, left));
  size_t count = 1;
  while (count < wanted &&
         plan_->RecordsAt(scratch.PlaceOf(p + count)) == records)
    ++count;
  return count;
}

absl::StatusOr<bool> CompiledStage::RunBlockOfBatches(
    uint64_t p, size_t batches, uint64_t records, Making& making,
    StageScratch& scratch) const {
  FM_ASSIGN_OR_RETURN(const size_t read, ReadAhead(0, kReadBytes, scratch));
  if (read < batches * records) return false;
  SetNames(p, 0, read, scratch);
  scratch.records_in.direct.clear();
  RunProgram(0, read, scratch);
  if (!scratch.records_out.error.ok()) return false;
  scratch.groups.assign(batches, static_cast<size_t>(records));
  size_t failed = 0;
  if (!stacker_
           ->Stack(scratch.records_out.columns, scratch.groups, scratch.stacked,
                   failed)
           .ok()) {
    return false;
  }
  FinishBatches(p, batches, making, scratch);
  return true;
}

// Runs scratch.stacked, batches from position p on, through the steps after the
// batch, and appends them to the chunk.
void CompiledStage::FinishBatches(uint64_t p, size_t batches, Making& making,
                                  StageScratch& scratch) const {
  BlockProgram::Input& in = scratch.batches_in;
  in.rows = batches;
  in.columns.clear();
  for (const Column& column : scratch.stacked) in.columns.push_back(&column);
  scratch.counters.clear();
  scratch.passes.clear();
  if (batch_program_->random()) {
    const size_t records = scratch.asked() / batches;
    for (size_t k = 0; k < batches; ++k) {
      scratch.counters.push_back(
          {plan_->CounterOf(scratch.PlaceOf(p + k), 0), 0});
      scratch.passes.push_back(scratch.RefAt(k * records).pass);
    }
  }
  in.counters = scratch.counters;
  in.passes = scratch.passes;
  BlockProgram::Output& out = scratch.batches_out;
  batch_program_->Run(in, *scratch.batches, out);
  for (size_t c = 0; c < out.columns.size() && out.rows > 0; ++c) {
    making.builder.AppendRows(c, *out.columns[c], 0, out.rows);
  }
  making.builder.FinishRows(out.rows);
  if (naming_ == Naming::kBitmap) {
    SetBits(out, p - making.begin.p, making.bits);
  }
  if (out.error.ok()) return;
  const size_t bad = out.failed_row;
  const size_t records = scratch.asked() / batches;
  making.Fail(
      {p + bad, 0},
      Annotate(
          AtRecord(out.error, out.failed_step, scratch.RefAt(bad * records), 0),
          fmt::format("batch {}, which begins with",
                      plan_->WholePosition(scratch.PlaceOf(p + bad)))),
      out.failed_step + 1, scratch.RefAt(bad * records));
}

CompiledStage::BatchTargets CompiledStage::TargetsOfBatch(
    uint64_t records, Making& making) const {
  BatchTargets targets;
  for (size_t c = 0; c < gathered_.size(); ++c) {
    const ComponentSpec& component = record_spec_->components[c];
    if (gathered_[c]) {
      targets.in_place.push_back(nullptr);
      targets.row_bytes.push_back(0);
      continue;
    }
    Shape shape{static_cast<int64_t>(records)};
    shape.insert(shape.end(), component.shape.begin(), component.shape.end());
    targets.in_place.push_back(making.builder.AppendRow(c, shape));
    targets.row_bytes.push_back(StaticBytes(component));
  }
  targets.gathered = std::make_unique<ChunkBuilder>(gathered_spec_);
  return targets;
}

// Appends the output rows of the record program as records [at, …) of the
// batch.
void CompiledStage::AppendToBatch(size_t at, const BatchTargets& targets,
                                  StageScratch& scratch) const {
  const BlockProgram::Output& out = scratch.records_out;
  const auto& direct = scratch.records_in.direct;
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

absl::Status CompiledStage::RunOneBatch(uint64_t p, uint64_t records,
                                        Making& making,
                                        StageScratch& scratch) const {
  BatchTargets targets = TargetsOfBatch(records, making);
  const bool heavy = record_program_->heavy();
  size_t at = 0;
  while (at < records) {
    const size_t bytes = RowsTogether::Max() == 1 ? 1 : kReadBytes;
    FM_ASSIGN_OR_RETURN(const size_t read, ReadAhead(at, bytes, scratch));
    SetNames(p, at, read, scratch);
    const size_t step = heavy ? 1 : std::min(kBlockRows, RowsTogether::Max());
    for (size_t row = 0; row < read; row += step) {
      std::vector<std::byte*>& direct = scratch.records_in.direct;
      direct.clear();
      for (size_t c = 0; heavy && c < targets.in_place.size(); ++c) {
        std::byte* const to = targets.in_place[c];
        direct.push_back(record_program_->direct()[c] && to != nullptr
                             ? to + (at + row) * targets.row_bytes[c]
                             : nullptr);
      }
      RunProgram(row, std::min(step, read - row), scratch);
      const BlockProgram::Output& out = scratch.records_out;
      if (!out.error.ok()) {
        making.Fail({p, 0},
                    AtRecord(out.error, out.failed_step,
                             scratch.RefAt(at + row + out.failed_row), 0),
                    out.failed_step + 1,
                    scratch.RefAt(at + row + out.failed_row));
        return absl::OkStatus();
      }
      AppendToBatch(at + row, targets, scratch);
    }
    at += read;
    if (!scratch.block.error.ok()) {
      making.Fail({p, 0}, scratch.block.error, scratch.block.failed_after,
                  scratch.RefAt(at));
      return absl::OkStatus();
    }
  }
  FinishBatch(p, records, targets, making, scratch);
  return absl::OkStatus();
}

// Makes one batch of all rows of the columns that are not written in place.
absl::Status CompiledStage::StackGathered(const Chunk& gathered, size_t records,
                                          std::vector<Column>& out) const {
  size_t failed = 0;
  if (stacker_->layout() != BatchLayout::kEqual) {
    std::vector<const Column*> columns;
    for (const Column& column : gathered.columns) columns.push_back(&column);
    return stacker_->Stack(columns, {&records, 1}, out, failed);
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

bool CompiledStage::FinishBatch(uint64_t p, uint64_t records,
                                BatchTargets& targets, Making& making,
                                StageScratch& scratch) const {
  const Chunk gathered = std::move(*targets.gathered).Finish();
  const absl::Status status =
      StackGathered(gathered, static_cast<size_t>(records), scratch.stacked);
  if (!status.ok()) {
    FailBatch(p, status, making, scratch);
    return false;
  }
  if (!batch_program_->empty()) {
    FinishBatches(p, 1, making, scratch);
    return !making.failed;
  }
  if (stacker_->layout() == BatchLayout::kEqual) {
    size_t g = 0;
    for (size_t c = 0; c < gathered_.size(); ++c) {
      if (!gathered_[c]) continue;
      making.builder.AppendRows(c, scratch.stacked[g++], 0, 1);
    }
  } else {
    for (size_t c = 0; c < scratch.stacked.size(); ++c) {
      making.builder.AppendRows(c, scratch.stacked[c], 0, 1);
    }
  }
  making.builder.FinishRows(1);
  if (naming_ == Naming::kBitmap) {
    const uint64_t bit = p - making.begin.p;
    making.bits.resize(bit / 8 + 1);
    making.bits[bit / 8] |= static_cast<uint8_t>(1U << (bit % 8));
  }
  return true;
}

}  // namespace feedmill
