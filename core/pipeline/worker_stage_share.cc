// The worker stage for one rank of several.
#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/status.h"
#include "core/pipeline/compiled_stage.h"

namespace feedmill {
namespace {

uint64_t FirstWhole(Cursor cursor) { return cursor.p + (cursor.i > 0 ? 1 : 0); }

// Runs a stage over the plan of a share, whose positions count from 0. Names
// the elements by the positions of the whole plan.
class ShareStage final : public WorkerStage {
 public:
  ShareStage(std::shared_ptr<const Plan> plan,
             std::shared_ptr<const WorkerStage> stage, Share share)
      : plan_(std::move(plan)), stage_(std::move(stage)), share_(share) {}

  std::shared_ptr<const WorkerStage> ForShare(Share) const override {
    FM_CHECK(false && "a share of a share");
    return nullptr;
  }
  std::unique_ptr<Scratch> NewScratch() const override {
    return stage_->NewScratch();
  }
  size_t EstimatedBytes() const override { return stage_->EstimatedBytes(); }
  bool heavy() const override { return stage_->heavy(); }
  size_t AheadBytes() const override { return stage_->AheadBytes(); }

  absl::StatusOr<Piece> Run(Cursor begin, Cursor end, size_t bytes_target,
                            Scratch& scratch) const override {
    if (plan_->size() != kEndless) end = std::min(end, {plan_->size(), 0});
    const uint64_t first = share_.Below(FirstWhole(begin));
    const uint64_t last = std::max(first, share_.Below(FirstWhole(end)));
    FM_ASSIGN_OR_RETURN(
        Piece piece, stage_->Run({first, 0}, {last, 0}, bytes_target, scratch));
    if (!std::holds_alternative<DenseRows>(piece.cursors)) {
      return Internal("positions that make one element each are not dense");
    }
    const bool whole = piece.error.ok() && piece.end.p >= last;
    piece.begin = begin;
    piece.end =
        whole ? std::max(begin, end) : Cursor{share_.At(piece.end.p), 0};
    BitmapRows rows;
    rows.bits.resize((piece.end.p - begin.p + 7) / 8);
    for (size_t row = 0; row < piece.chunk.rows; ++row) {
      const uint64_t bit = share_.At(first + row) - begin.p;
      rows.bits[bit / 8] |= static_cast<uint8_t>(1U << (bit % 8));
    }
    piece.cursors = std::move(rows);
    return piece;
  }

 private:
  const std::shared_ptr<const Plan> plan_;  // the whole one
  const std::shared_ptr<const WorkerStage> stage_;
  const Share share_;
};

}  // namespace

std::shared_ptr<const WorkerStage> CompiledStage::ForShare(Share share) const {
  if (share.whole() || !plan_->graph().numbered) return shared_from_this();
  std::shared_ptr<CompiledStage> part(new CompiledStage(*this));
  part->plan_ = plan_->ForShare(share);
  part->together_ = 1;
  return std::make_shared<ShareStage>(plan_, std::move(part), share);
}

}  // namespace feedmill
