#ifndef FEEDMILL_BROKER_LEASE_TABLE_H_
#define FEEDMILL_BROKER_LEASE_TABLE_H_

#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "broker/load_window.h"
#include "core/wire/message.h"

namespace feedmill {

// Workers that take leases: (leases per slot, worker).
using WorkersByLoad = std::set<std::pair<uint64_t, WorkerId>>;

// Splits of several ranks that end at the same place of a plan and need the
// same pieces: a worker that has them all makes those once, so they go together
// and count as one lease.
struct Kin {
  PlanId plan;
  uint64_t end = 0;  // position
  friend bool operator==(const Kin&, const Kin&) = default;
  friend auto operator<=>(const Kin&, const Kin&) = default;
};

// A worker as its last beat described it, and what it holds.
struct KnownWorker {
  Incarnation incarnation;
  PeerId address;
  absl::Time heard;
  bool gone = false;        // its connection ended since it was heard
  absl::Duration interval;  // of its beats, as it was told last
  uint32_t unanswered = 0;  // beats since then, which said nothing new
  uint32_t slots = 0;
  bool draining = false;
  bool drain_asked = false;  // by an operator
  std::set<SplitId> leases;
  std::map<Kin, uint64_t> kin;  // of these, how many of each
  uint64_t load = 0;            // leases, each kin counted once
  bool alone = false;           // its lease is of a suspect: it gets no other
  std::optional<WorkersByLoad::iterator> place;
  std::set<PlanId> plans;                // definitions that it has
  std::map<PlanId, absl::Time> defined;  // definitions sent, and when
  std::set<std::string> resolving;       // fingerprints of manifests asked for
  WorkerWindow window;                   // of its load, for operators
  std::map<PlanId, uint64_t> computed;   // positions, for operators
};

// Who works on which split: the volatile half of the dispatcher. A split that
// is in the table wants a lease until it is removed. Splits are served by
// depth (how many unserved splits their consumer has before them), so heads go
// first and consumers share the workers evenly.
//
// Kin go where the first of them went, while that worker takes leases, and at
// once, whatever their depth: what is made for one is there for all.
//
// How full a worker may be: its slots; twice that for splits within their
// consumer's fair share; without limit for heads, since a head that waits for
// a slot held by blocked splits could wait for ever.
//
// A split with which two workers died is a suspect: it waits until it is its
// consumer's head, so that its credit is sure, and then runs alone on a worker,
// a few positions at a time, fewer after each death, until one is left to
// blame.
//
// Deterministic: ordered containers only. Cost of a call: the leases that
// change, times a logarithm.
class LeaseTable {
 public:
  struct Work {
    std::vector<LeaseRef> leases;  // in order of attempt, at most two
    uint64_t attempts = 0;         // the last one's number
    uint32_t failures = 0;
    // Had it and have it no longer: a new attempt goes elsewhere if it can.
    std::set<WorkerId> tried;
    std::optional<Kin> kin;
    absl::Time progress;  // the cursor moved, or a lease was given
    uint32_t depth = 0;
    // Suspects only: positions that it gets at a time, where the present lease
    // ends, and how many workers died with it at one position.
    uint64_t width = 0;
    Cursor stop;
    Cursor blamed;
    uint32_t blames = 0;
    uint32_t deaths = 0;
    // What its consumer is to leave out next; it has no lease until then.
    std::optional<SkippedElement> skip;
    bool suspect() const { return width > 0; }
  };

  // How much a worker may have beside.
  enum class Room { kNone, kWithinSlots, kTwice, kAny };

  // ---- workers
  const std::map<WorkerId, KnownWorker>& workers() const { return workers_; }
  KnownWorker* FindWorker(const WorkerId& id);
  // REQUIRES: not known.
  KnownWorker& AddWorker(const WorkerId& id, Incarnation incarnation);
  // Takes its leases away.
  void DropWorker(const WorkerId& id);
  void SetCapacity(const WorkerId& id, uint32_t slots, bool draining);
  // Slots of all workers that are not draining.
  uint64_t slots() const { return slots_; }

  // ---- splits
  const Work* Find(const SplitId& split) const;
  uint64_t leased() const { return leased_; }
  void Add(const SplitId& split, uint32_t depth, absl::Time now,
           std::optional<Kin> kin = std::nullopt);
  // Ends its leases and forgets it. No effect on an unknown one.
  void Remove(const SplitId& split);
  void SetDepth(const SplitId& split, uint32_t depth);
  void NoteProgress(const SplitId& split, absl::Time now);
  // Takes over a lease that was given before a restart. False if the split is
  // unknown, has a lease, or had that attempt already.
  bool Adopt(const WorkerId& worker, const SplitId& split, Attempt attempt);
  // Ends one attempt that failed; false if it is not a present one.
  bool Fail(const WorkerId& worker, const SplitId& split, Attempt attempt);

  // A process died that had it. `taken`: what is left of it begins there. How
  // many have died while they ran the position `taken.p` and nothing else.
  uint32_t NoteDeath(const SplitId& split, const WorkerId& worker, Cursor taken,
                     Cursor end);
  // Its consumer is to leave out an element, with the rest of its position, and
  // has it next: no lease until it has done so. REQUIRES: it is known.
  void Skip(const SplitId& split, SkippedElement skipped);
  // `taken` moved: a suspect gets its next positions when it has had the last.
  void Advance(const SplitId& split, Cursor taken, Cursor end);

  // Gives out leases as far as workers have room. `share`: the depth up to
  // which a consumer is within its fair share.
  void Fill(absl::Time now, uint32_t share);
  // A second attempt on another worker, for a split whose only attempt is
  // slow; with `must`, on a full worker too, and instead of the older of two.
  // False if there is no such worker.
  bool Retry(const SplitId& split, absl::Time now, bool must);

  // Splits (some more than once) and workers whose leases changed since the
  // last call of these.
  std::vector<SplitId> TakeChangedSplits() {
    return std::exchange(changed_splits_, {});
  }
  std::set<WorkerId> TakeChangedWorkers() {
    return std::move(changed_workers_);
  }

 private:
  const WorkerId* Choose(const Work& work, Room room) const;
  const WorkerId* HomeOf(const Work& work, Room room) const;
  void SetHome(const Kin& kin, const WorkerId& worker);
  void GiveFollowers(absl::Time now);
  void GiveKin(const Kin& kin, absl::Time now);
  void Give(const SplitId& split, Work& work, const WorkerId& worker,
            absl::Time now);
  // The lease ends; the split is not queued.
  void End(const SplitId& split, Work& work, size_t index);
  // The same, and it goes elsewhere.
  void Take(const SplitId& split, Work& work, size_t index);
  void Enqueue(const SplitId& split, const Work& work);
  bool Dequeue(const SplitId& split, const Work& work);
  void UpdateLoad(const WorkerId& id, KnownWorker& worker);
  void MoveFromDraining();
  void TakeAll(const WorkerId& id);
  void GiveSuspects(absl::Time now);

  std::map<WorkerId, KnownWorker> workers_;
  std::map<SplitId, Work> work_;
  std::set<std::pair<uint32_t, SplitId>> unleased_;  // (depth, split)
  std::set<std::pair<uint32_t, SplitId>> suspects_;  // likewise
  // Of kin: those that are here, and which worker had one last; of those that
  // ended, too, while there are not too many.
  std::map<Kin, std::set<SplitId>> kin_;
  std::map<Kin, WorkerId> homes_;
  std::deque<Kin> homes_order_;
  std::set<SplitId> followers_;  // came, or came back, since the last Fill
  WorkersByLoad by_load_;
  std::set<WorkerId> draining_;
  std::vector<SplitId> changed_splits_;
  std::set<WorkerId> changed_workers_;
  uint64_t slots_ = 0;
  uint64_t leased_ = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_LEASE_TABLE_H_
