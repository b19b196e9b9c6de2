// The worker stage: asks for records and reads them.

#include <span>

#include "core/base/status.h"
#include "core/pipeline/compiled_stage.h"
#include "core/pipeline/read_profile.h"

namespace feedmill {
namespace {

// Reading, for a profile, and what was read.
class ReadSpan {
 public:
  explicit ReadSpan(const InputBlock& block)
      : block_(block), span_(ReadProfile::kSource) {}
  ~ReadSpan() {
    if (!span_) [[likely]]
      return;
    ReadProfile::Cost& cost = span_->At(ReadProfile::kSource);
    cost.rows_out += block_.rows;
    for (const Column* const column : block_.columns) {
      cost.bytes_out += column->values.size();
    }
  }
  ReadSpan(const ReadSpan&) = delete;
  ReadSpan& operator=(const ReadSpan&) = delete;

 private:
  const InputBlock& block_;
  const ProfileSpan span_;
};

}  // namespace

// Finds the records of positions [begin, end): as a run where all of them
// follow each other.
void CompiledStage::Ask(uint64_t begin, uint64_t end,
                        StageScratch& scratch) const {
  scratch.run = plan_->RunAt(begin, end);
  scratch.refs.clear();
  const uint64_t each = batch_program_ == nullptr ? 1 : plan_->RecordsAt(begin);
  if (scratch.run.count >= (end - begin) * each) return;
  scratch.run.count = 0;
  plan_->Records(begin, end, scratch.refs);
}

// Reads the records asked for, [from, …), as far as one read of about `bytes`
// goes.
absl::StatusOr<size_t> CompiledStage::ReadAhead(size_t from, size_t bytes,
                                                StageScratch& scratch) const {
  const ReadSpan span(scratch.block);
  if (scratch.run.count > 0) {
    RecordRun rest = scratch.run;
    rest.first.index += from;
    rest.count -= from;
    scratch.block.takes_trailing = record_program_->takes_trailing();
    return source_->ReadRun(rest, bytes, *scratch.source, scratch.block);
  }
  scratch.block.trailing = 0;
  const std::span<const RecordRef> refs(scratch.refs);
  return source_->Read(refs.subspan(from), bytes, *scratch.source,
                       scratch.block);
}

// Reads more of the block that was asked for, from its row `row` on.
absl::StatusOr<bool> CompiledStage::ReadBlock(uint64_t row, size_t bytes,
                                              StageScratch& scratch) const {
  const ReadSpan span(scratch.block);
  return source_->ReadBlock(scratch.refs[0], row, bytes, *scratch.source,
                            scratch.block);
}

}  // namespace feedmill
