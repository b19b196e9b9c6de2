#include "core/pipeline/skip_count.h"

#include "core/base/status.h"

namespace feedmill {

absl::Status SkipCount::Add(const SkippedElement& skipped) {
  ++count_;
  if (on_skipped_) FM_RETURN_IF_ERROR(on_skipped_(plan_, skipped));
  if (!cap_ || count_ <= static_cast<uint64_t>(*cap_)) return absl::OkStatus();
  return DataLoss(
      "{} element{} could not be made, more than the cap of {} that on_error "
      "sets; the last: {}",
      count_, count_ == 1 ? "" : "s", *cap_, skipped.error);
}

}  // namespace feedmill
