#include "broker/lease_table.h"

#include <algorithm>

#include "core/base/check.h"

namespace feedmill {
namespace {

// Load is leases per slot in this unit.
constexpr uint64_t kFull = uint64_t{1} << 20;

constexpr uint32_t kDeathsOfSuspects = 2;  // deaths that make a split a suspect
constexpr uint64_t kNarrowing = 16;        // divisor of the width at each death
constexpr size_t kMaxRememberedRanges = 4'096;

bool Holds(const LeaseTable::Work& work, const WorkerId& worker) {
  return std::any_of(
      work.leases.begin(), work.leases.end(),
      [&](const LeaseRef& lease) { return lease.worker == worker; });
}

}  // namespace

KnownWorker* LeaseTable::FindWorker(const WorkerId& id) {
  const auto it = workers_.find(id);
  return it == workers_.end() ? nullptr : &it->second;
}

KnownWorker& LeaseTable::AddWorker(const WorkerId& id,
                                   Incarnation incarnation) {
  const auto [it, added] = workers_.try_emplace(id);
  FM_CHECK(added);
  it->second.incarnation = incarnation;
  return it->second;
}

void LeaseTable::DropWorker(const WorkerId& id) {
  SetCapacity(id, 0, false);
  TakeAll(id);
  workers_.erase(id);
  changed_workers_.erase(id);
}

// Takes all leases of a worker away.
void LeaseTable::TakeAll(const WorkerId& id) {
  const std::set<SplitId> leases = FindWorker(id)->leases;
  for (const SplitId& split : leases) TakeFrom(id, split, work_.at(split));
}

void LeaseTable::TakeFrom(const WorkerId& id, const SplitId& split,
                          Work& work) {
  for (size_t i = 0; i < work.leases.size(); ++i) {
    if (work.leases[i].worker == id) Take(split, work, i--);
  }
}

void LeaseTable::SetCapacity(const WorkerId& id, uint32_t slots,
                             bool draining) {
  KnownWorker& worker = *FindWorker(id);
  if (!worker.draining) slots_ -= worker.slots;
  worker.slots = slots;
  worker.draining = draining;
  if (!draining) slots_ += slots;
  if (draining) {
    draining_.insert(id);
  } else {
    draining_.erase(id);
  }
  UpdateLoad(id, worker);
}

void LeaseTable::SetComplete(const WorkerId& id, uint32_t leases) {
  KnownWorker& worker = *FindWorker(id);
  if (worker.complete == leases) return;
  worker.complete = leases;
  UpdateLoad(id, worker);
}

void LeaseTable::UpdateLoad(const WorkerId& id, KnownWorker& worker) {
  const bool takes = !worker.draining && worker.slots > 0 && !worker.alone;
  if (!takes) {
    if (worker.place) by_load_.erase(*worker.place);
    worker.place.reset();
    return;
  }
  const uint64_t idle =
      std::min<uint64_t>({worker.complete, worker.slots, worker.load});
  const uint64_t load = (worker.load - idle) * kFull / worker.slots;
  if (!worker.place) {
    worker.place = by_load_.emplace(load, id).first;
    return;
  }
  auto node = by_load_.extract(*worker.place);
  node.value().first = load;
  worker.place = by_load_.insert(std::move(node)).position;
}

const LeaseTable::Work* LeaseTable::Find(const SplitId& split) const {
  const auto it = work_.find(split);
  return it == work_.end() ? nullptr : &it->second;
}

void LeaseTable::Add(const SplitId& split, uint32_t depth, absl::Time now,
                     std::optional<SharedRange> range, PythonNeedsPtr needs,
                     bool spread) {
  const auto [it, added] = work_.try_emplace(split);
  FM_CHECK(added);
  if (range) splits_of_range_[*range].insert(split);
  it->second.range = std::move(range);
  it->second.needs = std::move(needs);
  it->second.spread = spread;
  it->second.depth = depth;
  it->second.progress = now;
  Enqueue(split, it->second);
}

void LeaseTable::Enqueue(const SplitId& split, const Work& work) {
  (work.suspect() ? suspects_ : unleased_).emplace(work.depth, split);
  if (work.range && !work.suspect()) followers_.insert(split);
}

bool LeaseTable::Dequeue(const SplitId& split, const Work& work) {
  return (work.suspect() ? suspects_ : unleased_).erase({work.depth, split}) >
         0;
}

void LeaseTable::Remove(const SplitId& split) {
  const auto it = work_.find(split);
  if (it == work_.end()) return;
  while (!it->second.leases.empty()) End(split, it->second, 0);
  Dequeue(split, it->second);
  if (const std::optional<SharedRange>& range = it->second.range) {
    const auto co_located = splits_of_range_.find(*range);
    co_located->second.erase(split);
    if (co_located->second.empty()) splits_of_range_.erase(co_located);
    followers_.erase(split);
  }
  work_.erase(it);
}

void LeaseTable::SetDepth(const SplitId& split, uint32_t depth) {
  const auto it = work_.find(split);
  if (it == work_.end() || it->second.depth == depth) return;
  const bool queued = Dequeue(split, it->second);
  it->second.depth = depth;
  if (queued) Enqueue(split, it->second);
}

void LeaseTable::NoteProgress(const SplitId& split, absl::Time now) {
  const auto it = work_.find(split);
  if (it != work_.end()) it->second.progress = now;
}

bool LeaseTable::Adopt(const WorkerId& worker, const SplitId& split,
                       Attempt attempt) {
  const auto it = work_.find(split);
  if (it == work_.end()) return false;
  Work& work = it->second;
  if (!work.leases.empty() || attempt.value() <= work.attempts || work.skip) {
    return false;
  }
  work.attempts = attempt.value() - 1;  // Give counts it
  Dequeue(split, work);
  Give(split, work, worker, work.progress);
  return true;
}

bool LeaseTable::Fail(const WorkerId& worker, const SplitId& split,
                      Attempt attempt) {
  const auto it = work_.find(split);
  if (it == work_.end()) return false;
  Work& work = it->second;
  for (size_t i = 0; i < work.leases.size(); ++i) {
    if (work.leases[i].worker != worker || work.leases[i].attempt != attempt) {
      continue;
    }
    ++work.failures;
    work.failed.insert(worker);
    Take(split, work, i);
    return true;
  }
  return false;
}

void LeaseTable::Give(const SplitId& split, Work& work, const WorkerId& worker,
                      absl::Time now) {
  KnownWorker& holder = *FindWorker(worker);
  ++work.attempts;
  work.leases.push_back({worker, holder.incarnation, Attempt(work.attempts)});
  work.progress = now;
  holder.leases.insert(split);
  if (!work.range || ++holder.ranges[*work.range] == 1) ++holder.load;
  if (work.range) SetRangeWorker(*work.range, worker);
  ++leased_;
  UpdateLoad(worker, holder);
  changed_splits_.push_back(split);
  changed_workers_.insert(worker);
}

void LeaseTable::Take(const SplitId& split, Work& work, size_t index) {
  work.tried.insert(work.leases[index].worker);
  End(split, work, index);
  if (work.leases.empty()) Enqueue(split, work);
}

void LeaseTable::End(const SplitId& split, Work& work, size_t index) {
  const WorkerId worker = std::move(work.leases[index].worker);
  work.leases.erase(work.leases.begin() + static_cast<ptrdiff_t>(index));
  --leased_;
  KnownWorker& holder = *FindWorker(worker);
  holder.leases.erase(split);
  if (!work.range || --holder.ranges[*work.range] == 0) {
    --holder.load;
    if (work.range) holder.ranges.erase(*work.range);
  }
  if (holder.leases.empty()) holder.alone = false;
  UpdateLoad(worker, holder);
  changed_splits_.push_back(split);
  changed_workers_.insert(worker);
}

bool LeaseTable::IsFull(uint64_t load, Room room) const {
  const uint64_t full = kFull * reach_;
  return (room == Room::kWithinSlots && load >= full) ||
         (room == Room::kTwice && load >= 2 * full) || room == Room::kNone;
}

const WorkerId* LeaseTable::Choose(const Work& work, Room room) const {
  if (const WorkerId* same = RangeWorker(work, room)) return same;
  if (work.spread) {
    if (const WorkerId* idle = ChooseByDepth(work, room)) return idle;
  }
  // A worker on which the split failed does not get it again while there is
  // another one that can run it: a broken worker fails quickly, has room, and
  // would use up all attempts.
  const auto may_repeat = [&](const WorkerId& worker) {
    if (!work.failed.contains(worker)) return true;
    return std::all_of(by_load_.begin(), by_load_.end(), [&](const auto& each) {
      return work.failed.contains(each.second) ||
             !CanRun(workers_.at(each.second), work.needs);
    });
  };
  const WorkerId* tried = nullptr;
  for (const auto& [load, id] : by_load_) {
    if (IsFull(load, room)) break;
    if (Holds(work, id) || !CanRun(workers_.at(id), work.needs)) continue;
    if (!work.tried.contains(id)) return &id;
    if (tried == nullptr && may_repeat(id)) tried = &id;
  }
  return tried;
}

// Returns the worker with the fewest leases that are needed as soon as the
// split; null if they leave it no room. Leases that are needed later can wait:
// with them, a worker may have half as many leases again as it has slots.
const WorkerId* LeaseTable::ChooseByDepth(const Work& work, Room room) const {
  constexpr size_t kLookedAt = 64;
  const WorkerId* best = nullptr;
  uint64_t fewest = UINT64_MAX;
  size_t looked = 0;
  for (const auto& [load, id] : by_load_) {
    const uint64_t counted = room == Room::kWithinSlots ? load / 3 * 2 : load;
    if (looked++ == kLookedAt || IsFull(counted, room)) break;
    const KnownWorker& worker = workers_.at(id);
    if (Holds(work, id) || work.tried.contains(id) ||
        !CanRun(worker, work.needs)) {
      continue;
    }
    const auto sooner = static_cast<uint64_t>(std::count_if(
        worker.leases.begin(), worker.leases.end(), [&](const SplitId& split) {
          return work_.at(split).depth <= work.depth;
        }));
    const uint64_t running =
        sooner - std::min<uint64_t>(sooner, worker.complete);
    if (running < fewest && !IsFull(running * kFull / worker.slots, room)) {
      best = &id;
      fewest = running;
    }
  }
  return best;
}

// ---- co-located splits

// Returns the worker that has, or last had, a split co-located with this one.
// Null if there is none or this split must not go there.
const WorkerId* LeaseTable::RangeWorker(const Work& work, Room room) const {
  if (!work.range || work.suspect()) return nullptr;
  const auto found = range_worker_.find(*work.range);
  if (found == range_worker_.end() || work.tried.contains(found->second)) {
    return nullptr;
  }
  const auto worker = workers_.find(found->second);
  if (worker == workers_.end() || !worker->second.place ||
      Holds(work, worker->first) || !CanRun(worker->second, work.needs)) {
    return nullptr;
  }
  const bool there = worker->second.ranges.contains(*work.range);
  return there || !IsFull((*worker->second.place)->first, room) ? &found->second
                                                                : nullptr;
}

void LeaseTable::SetRangeWorker(const SharedRange& range,
                                const WorkerId& worker) {
  if (range_worker_.insert_or_assign(range, worker).second) {
    ranges_by_age_.push_back(range);
  }
  if (ranges_by_age_.size() <= kMaxRememberedRanges) return;
  range_worker_.erase(ranges_by_age_.front());
  ranges_by_age_.pop_front();
}

// Gives queued splits to the worker that has a lease co-located with them. Such
// splits need no room of their own.
void LeaseTable::GiveFollowers(absl::Time now) {
  for (const SplitId& split : std::exchange(followers_, {})) {
    Work& work = work_.at(split);
    if (!unleased_.contains({work.depth, split})) continue;
    const WorkerId* same = RangeWorker(work, Room::kNone);
    if (same == nullptr) continue;
    unleased_.erase({work.depth, split});
    Give(split, work, WorkerId(*same), now);
  }
}

void LeaseTable::GiveRange(const SharedRange& range, absl::Time now) {
  const std::set<SplitId>& all = splits_of_range_.at(range);
  followers_.insert(all.begin(), all.end());
  GiveFollowers(now);
}

bool LeaseTable::HasTaker(const PythonNeedsPtr& needs) const {
  return std::any_of(by_load_.begin(), by_load_.end(), [&](const auto& entry) {
    return CanRun(workers_.at(entry.second), needs);
  });
}

void LeaseTable::MoveFromDraining() {
  if (draining_.empty()) return;
  // If all workers that can run a waiting head drain, none takes it. Splits
  // behind it get no credit and would keep their draining worker for ever.
  std::set<PythonNeedsPtr> blocked;
  for (const auto* queue : {&unleased_, &suspects_}) {
    for (const auto& [depth, split] : *queue) {
      if (depth > 0) break;
      const PythonNeedsPtr& needs = work_.at(split).needs;
      if (!HasTaker(needs)) blocked.insert(needs);
    }
  }
  for (const WorkerId& id : draining_) {
    const std::set<SplitId> leases = FindWorker(id)->leases;
    for (const SplitId& split : leases) {
      Work& work = work_.at(split);
      const bool behind = work.depth > 0 && blocked.contains(work.needs);
      if (behind || HasTaker(work.needs)) TakeFrom(id, split, work);
    }
  }
}

// ---- suspects

uint32_t LeaseTable::NoteDeath(const SplitId& split, const WorkerId& worker,
                               Cursor taken, Cursor end) {
  const auto it = work_.find(split);
  if (it == work_.end()) return 0;
  Work& work = it->second;
  if (!work.suspect()) {
    if (++work.deaths < kDeathsOfSuspects) return 0;
    const bool queued = Dequeue(split, work);
    work.width = end.p - taken.p;
    if (queued) Enqueue(split, work);
  } else if (!FindWorker(worker)->alone) {
    return 0;  // the lease was given before the split became a suspect
  } else if (work.width == 1) {
    if (work.blamed != taken) work.blames = 0;
    work.blamed = taken;
    return ++work.blames;
  }
  work.width = (work.width + kNarrowing - 1) / kNarrowing;
  return 0;
}

void LeaseTable::Skip(const SplitId& split, SkippedElement skipped) {
  Work& work = work_.at(split);
  while (!work.leases.empty()) End(split, work, 0);
  Dequeue(split, work);
  work.skip = std::move(skipped);
  changed_splits_.push_back(split);
}

void LeaseTable::Advance(const SplitId& split, Cursor taken, Cursor end) {
  const auto it = work_.find(split);
  if (it == work_.end() || !it->second.suspect()) return;
  Work& work = it->second;
  if (work.skip) {
    if (taken.p <= work.skip->cursor.p) return;
    // The remainder is an ordinary split again.
    work.skip.reset();
    work.width = 0;
    work.blames = work.deaths = 0;
    work.tried.clear();
    changed_splits_.push_back(split);
    if (taken < end) Enqueue(split, work);
    return;
  }
  if (!work.leases.empty() && taken < work.stop) return;
  while (!work.leases.empty()) Take(split, work, 0);
  work.stop = {std::min(end.p, taken.p + work.width), 0};
  work.tried.clear();  // its former worker may continue it
}

void LeaseTable::GiveSuspects(absl::Time now) {
  auto it = suspects_.begin();
  while (it != suspects_.end() && it->first == 0) {
    const SplitId split = it->second;
    Work& work = work_.at(split);
    const WorkerId* worker = Choose(work, Room::kAny);
    if (worker == nullptr && work.needs == nullptr) return;
    if (worker == nullptr) {  // no worker can run it
      ++it;
      continue;
    }
    const WorkerId chosen = *worker;
    TakeAll(chosen);
    suspects_.erase({0, split});
    FindWorker(chosen)->alone = true;
    Give(split, work, chosen, now);
    it = suspects_.begin();
  }
}

void LeaseTable::Fill(absl::Time now, uint32_t share) {
  MoveFromDraining();
  GiveSuspects(now);
  GiveFollowers(now);
  std::set<PythonNeedsPtr> full;  // no worker that can run these has room
  for (auto it = unleased_.begin(); it != unleased_.end();) {
    const auto [depth, split] = *it;
    Work& work = work_.at(split);
    if (work.needs != nullptr && full.contains(work.needs)) {
      ++it;
      continue;
    }
    const Room room = depth == 0      ? Room::kAny
                      : depth < share ? Room::kTwice
                                      : Room::kWithinSlots;
    const WorkerId* worker = Choose(work, room);
    if (worker == nullptr) {  // deeper splits have no more room
      if (work.needs == nullptr) return;
      full.insert(work.needs);
      continue;
    }
    const WorkerId chosen = *worker;
    unleased_.erase(it);
    Give(split, work, chosen, now);
    if (work.range) GiveRange(*work.range, now);
    it = unleased_.upper_bound({depth, split});
  }
}

bool LeaseTable::Retry(const SplitId& split, absl::Time now, bool must) {
  const auto it = work_.find(split);
  if (it == work_.end() || it->second.leases.empty()) return false;
  Work& work = it->second;
  if (work.suspect()) {  // never on two workers at once
    if (!must) return false;
    while (!work.leases.empty()) Take(split, work, 0);
    ++work.retries;
    return true;
  }
  if (work.leases.size() > 1 && !must) return false;
  const WorkerId* worker = Choose(work, must ? Room::kAny : Room::kWithinSlots);
  if (worker == nullptr) return false;
  const WorkerId chosen = *worker;
  // All workers were tried: begin a new round.
  if (work.tried.contains(chosen)) work.tried.clear();
  if (work.leases.size() > 1) Take(split, work, 0);
  ++work.retries;
  Give(split, work, chosen, now);
  return true;
}

}  // namespace feedmill
