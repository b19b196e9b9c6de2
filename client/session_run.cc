#include "client/read_session.h"
#include "core/base/status.h"

// Checks the run that a reader reads, and its number of slots (mode off).

namespace feedmill {
namespace {

absl::Status OtherSlots(const JobName& job, uint64_t slots, uint64_t known) {
  return FailedPrecondition(
      "job \"{}\": the dispatcher lost its state, and the run has {} passes "
      "(processing_mode off) now, where this reader reads one of {}: start the "
      "reader again from the beginning, or all consumers from earlier tokens",
      job.value(), slots, known);
}

}  // namespace

bool ReadSession::TakeRun(absl::Time now, const RunInfo& run) {
  const std::optional<RunNumber> own = run_ ? run_->run : settings_.run;
  if (!shared() && own && *own != run.run) {
    // A late copy of a hello reached a dispatcher that lost its state first, or
    // this answer is out of date.
    if (state_ == State::kLive) Rejoin(now);
    return false;
  }
  if (run_ && run_->plan != run.plan) {
    Stop(FailedPrecondition(
        "job \"{}\": the dispatcher lost its state and planned a different "
        "iteration, to which the elements read so far do not belong: start "
        "again",
        settings_.job.value()));
    return false;
  }
  const uint64_t known = KnownSlots();
  if (known > 0 && run.slots > 0 && !run.settled) {
    // This answers a late copy of an earlier hello: join again with the known
    // slots.
    if (state_ == State::kLive) Rejoin(now);
    return false;
  }
  if (known > 0 && run.slots > 0 && run.slots != known) {
    Stop(OtherSlots(settings_.job, run.slots, known));
    return false;
  }
  run_ = run;
  return true;
}

// Returns the number of slots of a settled run of which this session has read
// something; 0 if the number may still change.
uint64_t ReadSession::KnownSlots() const {
  if (shared() || cursor_ == Cursor{}) return 0;
  if (run_) return run_->settled ? run_->slots : 0;
  return settings_.settled ? settings_.slots : 0;
}

// True if elements before `end` extend beyond the first slot and the run's
// number of slots may still change. A reader that has nothing of the second
// slot can continue in a run of any number of slots.
bool ReadSession::IsUnsettled(Cursor end) const {
  if (shared() || run_->settled || run_->slots == 0) return false;
  return WaitsToSettle() && Cursor{run_->positions / run_->slots, 0} < end;
}

}  // namespace feedmill
