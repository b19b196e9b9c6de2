#include "broker/lease_table.h"

#include <algorithm>

#include "core/base/check.h"

namespace feedmill {
namespace {

// Load is leases per slot in this unit.
constexpr uint64_t kFull = uint64_t{1} << 20;

constexpr uint32_t kDeathsOfSuspects = 2;  // makes a split one
constexpr uint64_t kNarrowing = 16;        // parts that are tried one by one

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
  for (const SplitId& split : leases) {
    Work& work = work_.at(split);
    for (size_t i = 0; i < work.leases.size(); ++i) {
      if (work.leases[i].worker == id) Take(split, work, i--);
    }
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

void LeaseTable::UpdateLoad(const WorkerId& id, KnownWorker& worker) {
  const bool takes = !worker.draining && worker.slots > 0 && !worker.alone;
  if (!takes) {
    if (worker.place) by_load_.erase(*worker.place);
    worker.place.reset();
    return;
  }
  const uint64_t load = worker.leases.size() * kFull / worker.slots;
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

void LeaseTable::Add(const SplitId& split, uint32_t depth, absl::Time now) {
  const auto [it, added] = work_.try_emplace(split);
  FM_CHECK(added);
  it->second.depth = depth;
  it->second.progress = now;
  Enqueue(split, it->second);
}

void LeaseTable::Enqueue(const SplitId& split, const Work& work) {
  (work.suspect() ? suspects_ : unleased_).emplace(work.depth, split);
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
  if (holder.leases.empty()) holder.alone = false;
  UpdateLoad(worker, holder);
  changed_splits_.push_back(split);
  changed_workers_.insert(worker);
}

const WorkerId* LeaseTable::Choose(const Work& work, Room room) const {
  const WorkerId* tried = nullptr;
  for (const auto& [load, id] : by_load_) {
    if (room == Room::kWithinSlots && load >= kFull) break;
    if (room == Room::kTwice && load >= 2 * kFull) break;
    const auto holds = [&id = id](const LeaseRef& lease) {
      return lease.worker == id;
    };
    if (std::any_of(work.leases.begin(), work.leases.end(), holds)) continue;
    if (!work.tried.contains(id)) return &id;
    if (tried == nullptr) tried = &id;
  }
  return tried;
}

void LeaseTable::MoveFromDraining() {
  if (!by_load_.empty()) {
    for (const WorkerId& id : draining_) TakeAll(id);
    return;
  }
  // Behind a head that nobody is left to run there is no credit: what waits for
  // some would keep its worker for ever.
  const bool head_waits =
      (!unleased_.empty() && unleased_.begin()->first == 0) ||
      (!suspects_.empty() && suspects_.begin()->first == 0);
  if (!head_waits) return;
  for (const WorkerId& id : draining_) {
    const std::set<SplitId> leases = FindWorker(id)->leases;
    for (const SplitId& split : leases) {
      Work& work = work_.at(split);
      if (work.depth > 0) Take(split, work, 0);
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
    return 0;  // it had not been a suspect when it was given
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
    // What is left is a split like any other.
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
  work.tried.clear();  // where it was it may go on
}

void LeaseTable::GiveSuspects(absl::Time now) {
  while (!suspects_.empty() && suspects_.begin()->first == 0) {
    const SplitId split = suspects_.begin()->second;
    Work& work = work_.at(split);
    const WorkerId* worker = Choose(work, Room::kAny);
    if (worker == nullptr) return;
    const WorkerId chosen = *worker;
    TakeAll(chosen);
    suspects_.erase({0, split});
    FindWorker(chosen)->alone = true;
    Give(split, work, chosen, now);
  }
}

void LeaseTable::Fill(absl::Time now, uint32_t share) {
  MoveFromDraining();
  GiveSuspects(now);
  while (!unleased_.empty()) {
    const auto [depth, split] = *unleased_.begin();
    Work& work = work_.at(split);
    const Room room = depth == 0      ? Room::kAny
                      : depth < share ? Room::kTwice
                                      : Room::kWithinSlots;
    const WorkerId* worker = Choose(work, room);
    if (worker == nullptr) return;  // those after it have no more room
    unleased_.erase(unleased_.begin());
    Give(split, work, WorkerId(*worker), now);
  }
}

bool LeaseTable::Retry(const SplitId& split, absl::Time now, bool must) {
  const auto it = work_.find(split);
  if (it == work_.end() || it->second.leases.empty()) return false;
  Work& work = it->second;
  if (work.suspect()) {  // never on two at once
    if (!must) return false;
    while (!work.leases.empty()) Take(split, work, 0);
    return true;
  }
  if (work.leases.size() > 1 && !must) return false;
  const WorkerId* worker = Choose(work, must ? Room::kAny : Room::kWithinSlots);
  if (worker == nullptr) return false;
  const WorkerId chosen = *worker;
  // All were: begin the round again.
  if (work.tried.contains(chosen)) work.tried.clear();
  if (work.leases.size() > 1) Take(split, work, 0);
  Give(split, work, chosen, now);
  return true;
}

}  // namespace feedmill
