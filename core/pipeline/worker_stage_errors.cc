// Handling of elements that cannot be made or are too large.
#include <algorithm>
#include <cstdint>
#include <new>
#include <utility>

#include "core/base/status.h"
#include "core/dataset/graph_text.h"
#include "core/pipeline/compiled_stage.h"

namespace feedmill {

absl::StatusOr<Piece> CompiledStage::Run(Cursor begin, Cursor end,
                                         size_t bytes_target, Scratch& scratch,
                                         bool& outer) const {
  auto& own = static_cast<StageScratch&>(scratch);
  // The first cursor that RunOnce makes.
  const Cursor first =
      naming_ == Naming::kRuns || begin.i == 0 ? begin : Cursor{begin.p + 1, 0};
  bool alone = false;  // one row and one element at a time
  while (true) {
    try {
      const RowsTogether rows(alone ? 1 : own.rows_together);
      auto piece = RunOnce(begin, end, alone ? 1 : bytes_target, own, outer);
      if (!alone && own.rows_together < kBlockRows) {
        own.rows_together *= 2;
        if (own.rows_together >= kBlockRows) own.rows_together = SIZE_MAX;
      }
      return piece;
    } catch (const std::bad_alloc& error) {
      const Cursor at = own.at;
      Renew(own);
      if (!alone) {
        alone = true;
        own.rows_together =
            std::max<size_t>(std::min(own.rows_together, kBlockRows) / 4, 1);
      } else if (first < at && at < end) {
        end = at;  // make the elements before the failed one
      } else {
        const auto* refused = dynamic_cast<const MemoryRefused*>(&error);
        if (refused == nullptr || !refused->over_limit()) {
          return StatusOf(error);  // an error of this machine
        }
        return Refuse(begin, first, end, *refused, own, outer);
      }
    }
  }
}

absl::Status CompiledStage::AtRecord(const absl::Status& status, size_t step,
                                     const RecordRef& ref, uint64_t row) const {
  const Step& written = plan_->graph().graph.steps[step];
  return Annotate(
      status, fmt::format("{}: steps[{}] {}", source_->Describe(ref, row), step,
                          written.name()));
}

void CompiledStage::FailBatch(uint64_t p, const absl::Status& status,
                              Making& making,
                              const StageScratch& scratch) const {
  const uint64_t place = scratch.PlaceOf(p);
  const RecordRef first = plan_->Record(place, 0);
  making.Fail({p, 0},
              Annotate(AtRecord(status, batch_step_, first, 0),
                       fmt::format("batch {}, which begins with",
                                   plan_->WholePosition(place))),
              batch_step_ + 1, first);
}

Piece CompiledStage::Refuse(Cursor asked, Cursor begin, Cursor end,
                            const MemoryRefused& refused, StageScratch& scratch,
                            bool& outer) const {
  Making making(output_, scratch.blocks);
  making.begin = begin;
  making.end = making.limit = end;
  const RecordRef ref = plan_->Record(begin.p, 0);
  // The last step made the row, or was going to write it.
  const absl::Status status = StatusOf(refused);
  making.Fail(begin,
              last_step_ ? AtRecord(status, *last_step_, ref, begin.i)
                         : Annotate(status, source_->Describe(ref, begin.i)),
              last_step_ ? *last_step_ + 1 : 0, ref, begin.i);
  return Conclude(asked, making, scratch, outer);
}

void CompiledStage::Renew(StageScratch& scratch) const {
  const size_t rows_together = scratch.rows_together;
  std::shared_ptr<BlockSource> blocks = std::move(scratch.blocks);
  scratch = StageScratch();  // frees the old memory first
  scratch = std::move(static_cast<StageScratch&>(*NewScratch()));
  scratch.blocks = std::move(blocks);
  scratch.rows_together = rows_together;
}

std::optional<SkippedElement> CompiledStage::SkipFailed(Making& making,
                                                        bool& outer) const {
  const std::optional<size_t>& before = plan_->graph().skip_before;
  const bool own =
      making.left_out || (before && making.failed_after <= *before);
  if (!own && !covered_) return std::nullopt;
  outer = !own;
  SkippedElement skipped;
  skipped.cursor = making.end;
  skipped.error = ErrorText(making.error);
  skipped.records = std::move(making.failed_records);
  if (skipped.records.empty() && origins_ != nullptr) {
    origins_->Find(making.failed_ref, making.failed_row, skipped.records);
  }
  making.error = absl::OkStatus();
  const bool runs_on = naming_ == Naming::kRuns && !making.ends_block;
  making.end = runs_on ? Cursor{making.end.p, making.end.i + 1}
                       : std::min(making.limit, Cursor{making.end.p + 1, 0});
  return skipped;
}

}  // namespace feedmill
