#include "client/known_run.h"

#include "core/base/status.h"

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

absl::StatusOr<bool> KnownRun::Take(const RunInfo& run, Cursor cursor) {
  const std::optional<RunNumber> own = info_ ? info_->run : settings_.run;
  // A late copy of a hello reached a dispatcher that lost its state first, or
  // this answer is out of date.
  if (!settings_.shared() && own && *own != run.run) return false;
  if (info_ && info_->plan != run.plan) {
    return FailedPrecondition(
        "job \"{}\": the dispatcher lost its state and planned a different "
        "iteration, to which the elements read so far do not belong: start "
        "again",
        settings_.job.value());
  }
  if (const uint64_t known = KnownSlots(cursor); known > 0 && run.slots > 0) {
    // This answers a late copy of an earlier hello: join again with the known
    // slots.
    if (!run.settled) return false;
    if (run.slots != known) {
      return OtherSlots(settings_.job, run.slots, known);
    }
  }
  info_ = run;
  return true;
}

// Returns the final number of slots of a run of which this session has read
// something; 0 if the number may still change.
uint64_t KnownRun::KnownSlots(Cursor cursor) const {
  if (settings_.shared() || cursor == Cursor{}) return 0;
  if (info_) return info_->settled ? info_->slots : 0;
  return settings_.settled ? settings_.slots : 0;
}

void KnownRun::Name(ClientHello& hello) const {
  hello.run = settings_.run;
  hello.seed = settings_.seed;
  hello.begins = settings_.begins;
  hello.slots = settings_.slots;
  hello.settled = settings_.settled;
  if (!info_) return;
  hello.run = info_->run;
  hello.begins = false;
  hello.seed = info_->seed;  // if the job is created again, it is the same job
  hello.slots = info_->slots;
  hello.settled = info_->slots > 0 && info_->settled;
}

bool KnownRun::IsUnsettled(Cursor end) const {
  if (settings_.shared() || info_->settled || info_->slots == 0) return false;
  return rules_.WaitsToSettle() &&
         Cursor{info_->positions / info_->slots, 0} < end;
}

}  // namespace feedmill
