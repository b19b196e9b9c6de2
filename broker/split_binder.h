#ifndef FEEDMILL_BROKER_SPLIT_BINDER_H_
#define FEEDMILL_BROKER_SPLIT_BINDER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "broker/dispatcher_context.h"
#include "broker/split_sizer.h"
#include "feedmill/dispatcher.h"

namespace feedmill {

// Cuts the positions of running jobs into splits and binds each split to one
// session. Ranks that need the same data are bound to the same ranges. Pure.
class SplitBinder {
 public:
  // The references must outlive this object.
  explicit SplitBinder(DispatcherContext& context) : context_(context) {}

  // Begins and ends the binding for a job whose run was planned. End ends the
  // leases of the run's splits, too.
  void Begin(const JobState& job);
  void End(const JobState& job);
  // True between Begin and End.
  bool Binds(const JobName& job) const { return runs_.contains(job); }
  // Jobs that this object binds for and whose number of passes may still grow.
  std::vector<JobName> UnsettledJobs() const;
  // After a restart: lets workers lease the splits that the session has.
  void Restore(absl::Time now, const JobState& job,
               const SessionState& session);

  // Bind splits to sessions until their windows are full.
  void BindAll(absl::Time now);
  void BindJob(absl::Time now, const JobName& job);
  void Bind(absl::Time now, const SessionKey& key);
  // The sessions hear otherwise whether no position is left to bind.
  void NoteExhaustionSent(const JobState& job);

 private:
  struct Run {
    SplitSizer sizer;
    bool exhaustion_sent = false;
    // For ranks that need the same data: position ranges [begin, end) bound to
    // one rank, by begin. The other ranks get splits with the same ranges.
    std::map<uint64_t, uint64_t> ranges{};
  };

  bool BindSome(absl::Time now, const SessionKey& key, Run& run, uint64_t room);
  uint64_t SplitSize(const JobState& job, Cursor begin, uint64_t remaining,
                     const Run& run, SplitSizer& sizer) const;
  bool Together(const JobState& job);
  std::optional<SharedRange> Remember(const JobState& job, const SplitId& id,
                                      Run& run);
  void SendIfExhausted(const JobState& job, Run& run);

  DispatcherContext& context_;
  std::map<JobName, Run> runs_;
};

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_SPLIT_BINDER_H_
