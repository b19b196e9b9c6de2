#ifndef FEEDMILL_BROKER_PASS_SETTLER_H_
#define FEEDMILL_BROKER_PASS_SETTLER_H_

#include <cstdint>
#include <map>
#include <set>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "broker/dispatcher_context.h"
#include "broker/split_binder.h"
#include "core/wire/message.h"

namespace feedmill {

// Decides how many passes over its graph a run of processing mode off has: one
// for each worker that joins before the first pass has ended. A run of another
// mode reads its graph once, and that is final from its beginning. Pure.
class PassSettler {
 public:
  // The references must outlive this object.
  PassSettler(DispatcherContext& context, SplitBinder& binder, absl::Time now)
      : context_(context), binder_(binder), began_(now) {}

  // Returns the number of passes of a run that is planned now.
  uint64_t PassesNow() const;
  // Adds passes for workers that joined, to runs whose first pass has not
  // ended.
  // A worker that replaces a lost worker continues that worker's pass.
  void GrowRuns();
  // Makes the number final when a reader has read the first pass. All ranks
  // must agree on the run's end before a rank reaches it.
  void SettleIfDue(absl::Time now, const JobName& job);
  // True if the number is due to be final, but waits for ranks.
  bool Awaits(const JobName& job) const { return awaiting_.contains(job); }
  void EndRun(const JobName& job) { awaiting_.erase(job); }

  // ---- readers
  // Refuses a reader that has begun a run with another number of passes than
  // the other ranks read. The ranks would end at different positions.
  absl::Status Check(const ClientHello& hello, const JobState& job) const;
  // Takes over the number of passes that a reader learned before, from a
  // dispatcher whose store was lost or from another dispatcher. If the number
  // is final and other readers have read it so, its passes do not change.
  void Learn(const ClientHello& hello);

  // ---- runs that began before the store was emptied. The settler waits for
  // ranks that this store has not met.
  // The reader opens a session of the job.
  void NoteReader(absl::Time now, const ClientHello& hello);
  // The dispatcher restarted; it has the job from its journal.
  void NoteRestart(absl::Time now, const JobState& job) {
    AwaitRanks(job, now);
  }
  // A peer has seen the journal of another store.
  void NoteOtherStore();
  // Makes the numbers of runs final whose wait for ranks is over.
  void SettleWithoutSilent(absl::Time now);
  void Forget(const JobName& job) { begun_before_.erase(job); }

 private:
  void Extend(const JobName& job, uint64_t passes, bool last);
  void AwaitRanks(const JobState& job, absl::Time since);
  bool AwaitsRanks(absl::Time now, const JobState& job) const;

  DispatcherContext& context_;
  SplitBinder& binder_;
  const absl::Time began_;
  bool follows_ = false;  // peers have seen the journal of another store
  std::set<JobName> awaiting_;
  // Jobs for whose run another store may have a final number from before. The
  // value is the time until which this one waits for ranks.
  std::map<JobName, absl::Time> begun_before_;
};

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_PASS_SETTLER_H_
