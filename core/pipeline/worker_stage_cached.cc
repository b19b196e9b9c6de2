// The part of a worker stage that stands before a cache.
#include <utility>

#include "core/base/status.h"
#include "core/pipeline/compiled_stage.h"

namespace feedmill {
namespace {

void TakeError(Making& making, CompiledStage::ComputedRows& made) {
  made.error = std::move(making.error);
  made.ends_block = making.ends_block;
  made.failed_after = making.failed_after;
  made.left_out = making.left_out;
  made.failed_records = std::move(making.failed_records);
}

}  // namespace

bool CompiledStage::rows_heavy() const {
  return record_program_->heavy() || source_->heavy() ||
         (batch_program_ != nullptr && batch_program_->heavy());
}

std::string CompiledStage::Describe(uint64_t position, uint64_t row) const {
  std::vector<RecordRef> refs;
  plan_->Records(position, position + 1, refs);
  return source_->Describe(refs[0], row);
}

absl::StatusOr<CompiledStage::ComputedRows> CompiledStage::MakeAt(
    std::span<const uint64_t> positions, size_t bytes_target,
    StageScratch& scratch) const {
  Making making(output_, nullptr);
  making.end = making.limit = {positions.size(), 0};
  making.bytes_target = bytes_target;
  scratch.places = positions;
  const absl::Status status = Make(making, scratch);
  scratch.places = {};
  FM_RETURN_IF_ERROR(status);
  ComputedRows made;
  made.count = making.end.p;
  TakeError(making, made);
  if (naming_ == Naming::kBitmap) {
    making.bits.resize((made.count + 7) / 8);
    for (uint32_t k = 0; k < made.count; ++k) {
      if ((making.bits[k / 8] >> k % 8 & 1) != 0) made.origins.push_back(k);
    }
    made.dropped = made.origins.size() < made.count;
  }
  made.chunk = Finish(std::move(making));
  return made;
}

absl::StatusOr<CompiledStage::ComputedRows> CompiledStage::MakeInBlock(
    uint64_t position, uint64_t row, size_t bytes_target,
    StageScratch& scratch) const {
  Making making(output_, nullptr);
  making.begin = {position, row};
  making.end = making.limit = {position + 1, 0};
  making.bytes_target = bytes_target;
  FM_RETURN_IF_ERROR(Make(making, scratch));
  ComputedRows made;
  uint64_t rows = 0;
  for (const CursorRun& run : making.runs) {
    rows += run.count;
    made.count = run.i + run.count - row;
  }
  made.more = making.failed || making.end.p == position;
  if (made.more) made.count = making.end.i - row;
  TakeError(making, made);
  made.dropped = rows < made.count;
  for (const CursorRun& run : making.runs) {
    for (uint64_t k = 0; made.dropped && k < run.count; ++k) {
      made.origins.push_back(static_cast<uint32_t>(run.i + k - row));
    }
  }
  made.chunk = Finish(std::move(making));
  return made;
}

}  // namespace feedmill
