#include "client/known_run.h"

#include "core/base/status.h"

namespace feedmill {
namespace {

absl::Status OtherPasses(const JobName& job, uint64_t passes, uint64_t known) {
  return FailedPrecondition(
      "job \"{}\": the dispatcher lost its state, and the run has {} passes "
      "(processing_mode off) now, where this reader reads one of {}: start the "
      "reader again from the beginning, or all consumers from earlier tokens",
      job.value(), passes, known);
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
  if (const uint64_t known = KnownPasses(cursor); known > 0 && run.passes > 0) {
    // This answers a late copy of an earlier hello: join again with the known
    // passes.
    if (!run.settled) return false;
    if (run.passes != known) {
      return OtherPasses(settings_.job, run.passes, known);
    }
  }
  info_ = run;
  return true;
}

// Returns the final number of passes of a run of which this session has read
// something; 0 if the number may still change.
uint64_t KnownRun::KnownPasses(Cursor cursor) const {
  if (settings_.shared() || cursor == Cursor{}) return 0;
  if (info_) return info_->settled ? info_->passes : 0;
  return settings_.settled ? settings_.passes : 0;
}

void KnownRun::Name(ClientHello& hello) const {
  hello.run = settings_.run;
  hello.seed = settings_.seed;
  hello.begins = settings_.begins;
  hello.passes = settings_.passes;
  hello.settled = settings_.settled;
  hello.sequencing =
      settings_.sequence ? Sequencing::kIfWorth : Sequencing::kNever;
  if (settings_.sequence) hello.number = settings_.sequence->number;
  if (!info_) return;
  hello.sequencing =
      info_->sequenced ? Sequencing::kAlways : Sequencing::kNever;
  hello.number = info_->sequenced ? hello.cursor.i : 0;
  hello.run = info_->run;
  hello.begins = false;
  hello.seed = info_->seed;  // if the job is created again, it is the same job
  hello.passes = info_->passes;
  hello.settled = info_->passes > 0 && info_->settled;
}

bool KnownRun::IsUnsettled(Cursor end) const {
  if (settings_.shared() || info_->settled || info_->passes == 0) return false;
  return rules_.WaitsToSettle() &&
         Cursor{info_->positions / info_->passes, 0} < end;
}

}  // namespace feedmill
