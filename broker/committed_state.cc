#include "broker/committed_state.h"

#include "core/base/status.h"

namespace feedmill {

void CommittedState::Commit(DispatcherEvent event) {
  state_.Apply(event);
  if (!MayBeLate(event)) synced_ = state_.sequence;
  events_.push_back(std::move(event));
}

void CommittedState::Compare(const Seen& seen) {
  if (seen.journal != state_.journal || seen.sequence <= state_.sequence ||
      !behind_.ok()) {
    return;
  }
  behind_ = DataLoss(
      "the dispatcher's journal ends at event {}, and event {} of it was seen "
      "before: it was lost in part, or an older copy was put back. Restart the "
      "dispatcher with its work-dir as it was last, or with an empty one; then "
      "readers start again",
      state_.sequence, seen.sequence);
}

}  // namespace feedmill
