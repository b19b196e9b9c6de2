// What becomes of elements that cannot be made.
#include <algorithm>
#include <utility>

#include "core/base/status.h"
#include "core/dataset/graph_text.h"
#include "core/pipeline/compiled_stage.h"

namespace feedmill {

absl::Status CompiledStage::AtRecord(const absl::Status& status, size_t step,
                                     const RecordRef& ref, uint64_t row) const {
  const Step& written = plan_->graph().graph.steps[step];
  return Annotate(
      status, fmt::format("{}: steps[{}] {}", source_->Describe(ref, row), step,
                          StepName(written)));
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
