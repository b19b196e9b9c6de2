#include "client/shared_hand_out.h"

#include "client/reader_parts.h"
#include "client/service_source.h"
#include "core/net/clock.h"

namespace feedmill {
namespace {

// Largest age of the event loop's permission to hand out elements. It is far
// below the half of a sharer's timeout that its lease leaves.
constexpr absl::Duration kPermissionAge = absl::Seconds(1);

}  // namespace

void SharedHandOut::Give(const ClientStage::Output& output) {
  output_ = &output;
  rows_ = output.chunk.rows;
  base_ = source_.stage_base();
}

void SharedHandOut::Report(uint64_t unread) {
  if (output_ == nullptr || unread >= rows_) return;
  const auto last = static_cast<size_t>(rows_ - unread - 1);
  source_.HandOut(base_ + output_->InputOf(last), /*soon=*/unread == 0);
}

absl::StatusOr<bool> SharedHandOut::MayHandOut(const Cancellation& cancellation,
                                               bool had_element) {
  const absl::Time begun = SteadyNow();
  while (!source_.view().may_hand_out ||
         SteadyNow() - source_.view().turn > kPermissionAge) {
    if (source_.view().state == ReadSession::State::kFailed) {
      return source_.view().failure;
    }
    if (cancellation.cancelled()) return Cancellation::Error();
    FM_RETURN_IF_ERROR(source_.Late(begun, had_element));
    if (source_.RenewView()) return false;
  }
  return true;
}

}  // namespace feedmill
