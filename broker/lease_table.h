#ifndef FEEDMILL_BROKER_LEASE_TABLE_H_
#define FEEDMILL_BROKER_LEASE_TABLE_H_

#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "broker/load_window.h"
#include "core/dataset/python_versions.h"
#include "core/wire/message.h"

namespace feedmill {

// Workers that take leases: (leases per slot, worker).
using WorkersByLoad = std::set<std::pair<uint64_t, WorkerId>>;

// The range of co-located splits: splits of several ranks that end at the same
// position of a plan and need the same computed data. One worker gets all of
// them, computes the data once, and they count as one lease.
struct SharedRange {
  PlanId plan;
  uint64_t end = 0;  // position
  friend bool operator==(const SharedRange&, const SharedRange&) = default;
  friend auto operator<=>(const SharedRange&, const SharedRange&) = default;
};

// A worker as its last heartbeat described it, and its leases.
struct KnownWorker {
  Incarnation incarnation;
  PeerId address;
  absl::Time heard;
  bool gone = false;        // its connection has ended since its last message
  absl::Duration interval;  // of its heartbeats, as last sent to the worker
  uint32_t unanswered = 0;  // heartbeats without news since the last answer
  uint32_t slots = 0;
  bool draining = false;
  bool drain_asked = false;  // by an operator
  // Splits that failed on this worker and that other workers computed, less the
  // splits that it computed meanwhile; and the error of the last failure. Set
  // aside: it has too many of them.
  uint32_t faults = 0;
  std::string failure;
  bool set_aside = false;
  uint64_t leases_failed = 0;  // attempts of this life, for operators
  std::set<SplitId> leases;
  std::map<SharedRange, uint64_t> ranges;  // numbers of co-located leases
  uint64_t load = 0;      // leases; co-located leases count as one
  uint64_t complete = 0;  // of them, those that need no thread any more
  bool alone = false;     // its lease is a suspect's: it gets no other
  std::optional<WorkersByLoad::iterator> place;
  std::set<PlanId> plans;                // definitions that the worker has
  std::map<PlanId, absl::Time> defined;  // definitions sent, and when
  std::set<std::string> resolving;       // fingerprints of requested manifests
  bool allows_python = false;
  bool sequences = false;  // it can make sequenced runs
  std::shared_ptr<const PythonInterpreter>
      python;                           // null: none, or unknown yet
  std::string release{};                // of feedmill, for operators
  WorkerWindow window;                  // of its load, for operators
  std::map<PlanId, uint64_t> computed;  // positions, for operators
};

// Assigns splits to workers: the volatile half of the dispatcher. A split in
// the table wants a lease until it is removed. The depth of a split is the
// number of unserved splits that its consumer has before it. Splits are served
// by depth, so heads (depth 0) come first and consumers share the workers
// evenly. (Inputs of one pipeline do by what is read of them: SetDepths.)
//
// Co-located splits go to the worker of the first of them while that worker
// takes leases. They go there at once, at any depth: data that the worker
// computes for one of them serves all.
//
// Maximum number of leases of a worker, when it gets a split:
//   other splits                        its slots, times the reach
//   split in its consumer's fair share  twice its slots, times the reach
//   head                                no limit
// Heads have no limit because blocked splits may hold all worker slots: the
// head could wait for ever.
//
// A split with which two workers died is a suspect. It waits until it is its
// consumer's head, so that it certainly has credit. It then runs alone on a
// worker, a few positions at a time. Each death reduces the number of
// positions, until a single position can be blamed.
//
// Splits that need Python go only to workers whose interpreter can run their
// functions; for these splits, the other workers do not exist.
//
// Deterministic: ordered containers only. Cost of a call: the leases that
// change, times a logarithm; for splits that need Python, times the number of
// workers that cannot run them.
class LeaseTable {
 public:
  struct Work {
    std::vector<LeaseRef> leases;  // in order of attempt, at most two
    uint64_t attempts = 0;         // number of the last attempt
    uint32_t failures = 0;
    uint32_t retries = 0;  // attempts that Retry started or ended
    // Workers that had the split before. A new attempt goes to another worker
    // if there is one.
    std::set<WorkerId> tried;
    std::set<WorkerId> failed;  // of them, those whose attempt failed
    std::optional<SharedRange> range;
    PythonNeedsPtr needs;  // only workers that meet them get a lease
    absl::Time progress;   // the cursor moved, or a lease was given
    uint32_t depth = 0;
    // Compared with splits of other jobs by its depth: it goes to the worker
    // with the fewest leases that are needed sooner.
    bool spread = false;
    // Suspects only, except `deaths`.
    //   width   positions per lease; 0: the split is no suspect
    //   stop    end of the present lease
    //   blamed  last position at which a worker died that ran nothing else
    //   blames  workers that died at `blamed`
    //   deaths  workers that died before the split became a suspect
    uint64_t width = 0;
    Cursor stop;
    Cursor blamed;
    uint32_t blames = 0;
    uint32_t deaths = 0;
    // The element that its consumer is to skip next. The split has no lease
    // until the consumer has skipped it.
    std::optional<SkippedElement> skip;
    bool suspect() const { return width > 0; }
  };

  // Load up to which a worker may get one more lease.
  enum class Room { kNone, kWithinSlots, kTwice, kAny };

  // ---- workers
  const std::map<WorkerId, KnownWorker>& workers() const { return workers_; }
  KnownWorker* FindWorker(const WorkerId& id);
  // REQUIRES: the worker is not known.
  KnownWorker& AddWorker(const WorkerId& id, Incarnation incarnation);
  // Removes the worker and ends its leases.
  void DropWorker(const WorkerId& id);
  void SetCapacity(const WorkerId& id, uint32_t slots, bool draining);
  // This number of the worker's leases, but at most its slots, does not count
  // as load: they only wait for their consumers.
  void SetComplete(const WorkerId& id, uint32_t leases);
  // True if the worker's interpreter can run functions with these needs.
  static bool CanRun(const KnownWorker& worker, const PythonNeedsPtr& needs) {
    return needs == nullptr || (worker.python != nullptr &&
                                WhyUnfit(needs, worker.python.get()).empty());
  }
  // True if a worker takes leases and can run functions with these needs.
  bool HasTaker(const PythonNeedsPtr& needs) const;
  // Number of workers that take leases.
  size_t takers() const { return by_load_.size(); }
  // Number of slots of all workers that are not draining.
  uint64_t slots() const { return slots_; }
  // The factor by which workers get more leases than usual; 1 at first.
  void SetReach(uint64_t reach) { reach_ = reach; }
  uint64_t reach() const { return reach_; }

  // ---- splits
  const Work* Find(const SplitId& split) const;
  uint64_t leased() const { return leased_; }
  void Add(const SplitId& split, uint32_t depth, absl::Time now,
           std::optional<SharedRange> range = std::nullopt,
           PythonNeedsPtr needs = nullptr, bool spread = false);
  // Ends the split's leases and removes it. No effect on an unknown split.
  void Remove(const SplitId& split);
  void RemoveAll(const std::set<SplitId>& splits) {
    for (const SplitId& split : splits) Remove(split);
  }
  void SetDepth(const SplitId& split, uint32_t depth);
  void NoteProgress(const SplitId& split, absl::Time now);
  // Restores a lease that was given before a restart. False if the split is
  // unknown, has a lease, is to skip an element, or had that attempt already.
  bool Adopt(const WorkerId& worker, const SplitId& split, Attempt attempt);
  // Ends an attempt that failed. False if the split has no such attempt now.
  bool Fail(const WorkerId& worker, const SplitId& split, Attempt attempt);

  // Records that `worker` died while it had the split, whose remainder is
  // [taken, end). Returns the number of workers that died while they ran only
  // position `taken.p`.
  uint32_t NoteDeath(const SplitId& split, const WorkerId& worker, Cursor taken,
                     Cursor end);
  // The split's consumer is to skip its next element, and the remainder of that
  // element's position. Until then the split gets no lease. REQUIRES: the split
  // is known.
  void Skip(const SplitId& split, SkippedElement skipped);
  // `taken` moved: a suspect gets its next positions once the consumer has all
  // positions of the present lease.
  void Advance(const SplitId& split, Cursor taken, Cursor end);

  // Gives out leases as far as workers have room. `share`: the depth up to
  // which a consumer is within its fair share.
  void Fill(absl::Time now, uint32_t share);
  // Starts a second attempt on another worker, for a split whose only attempt
  // is slow. With `must`, a full worker may get it, and if the split has two
  // attempts, the older one ends. False if there is no such worker.
  bool Retry(const SplitId& split, absl::Time now, bool must);

  // Return the splits and the workers whose leases changed since the last call.
  // A split may occur more than once.
  std::vector<SplitId> TakeChangedSplits() {
    return std::exchange(changed_splits_, {});
  }
  std::set<WorkerId> TakeChangedWorkers() {
    return std::move(changed_workers_);
  }

 private:
  bool IsFull(uint64_t load, Room room) const;
  const WorkerId* Choose(const Work& work, Room room) const;
  const WorkerId* ChooseByDepth(const Work& work, Room room) const;
  const WorkerId* RangeWorker(const Work& work, Room room) const;
  void SetRangeWorker(const SharedRange& range, const WorkerId& worker);
  void GiveFollowers(absl::Time now);
  void GiveRange(const SharedRange& range, absl::Time now);
  void Give(const SplitId& split, Work& work, const WorkerId& worker,
            absl::Time now);
  // Ends a lease. The split is not queued.
  void End(const SplitId& split, Work& work, size_t index);
  // Ends a lease. A split without another lease is queued for another worker.
  void Take(const SplitId& split, Work& work, size_t index);
  void Enqueue(const SplitId& split, const Work& work);
  bool Dequeue(const SplitId& split, const Work& work);
  void UpdateLoad(const WorkerId& id, KnownWorker& worker);
  void MoveFromDraining();
  void TakeAll(const WorkerId& id);
  void TakeFrom(const WorkerId& id, const SplitId& split, Work& work);
  void GiveSuspects(absl::Time now);

  std::map<WorkerId, KnownWorker> workers_;
  std::map<SplitId, Work> work_;
  std::set<std::pair<uint32_t, SplitId>> unleased_;  // (depth, split)
  std::set<std::pair<uint32_t, SplitId>> suspects_;  // (depth, split)
  // Co-located splits by their range. range_worker_: the worker that got one of
  // them last. It also has ranges without splits in the table; its size is
  // bounded, and the oldest ranges are dropped first.
  std::map<SharedRange, std::set<SplitId>> splits_of_range_;
  std::map<SharedRange, WorkerId> range_worker_;
  std::deque<SharedRange> ranges_by_age_;
  std::set<SplitId> followers_;  // co-located, queued since the last Fill
  WorkersByLoad by_load_;
  std::set<WorkerId> draining_;
  std::vector<SplitId> changed_splits_;
  std::set<WorkerId> changed_workers_;
  uint64_t slots_ = 0;
  uint64_t reach_ = 1;
  uint64_t leased_ = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_LEASE_TABLE_H_
