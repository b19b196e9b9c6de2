#include <algorithm>
#include <optional>

#include "broker/dispatcher.h"
#include "core/dataset/graph_text.h"

// The dispatcher's part of runs with slots (mode off): one for each worker that
// is there before the first one has ended.

namespace feedmill {

uint64_t Dispatcher::SlotsNow() const {
  const auto stays = [](const auto& worker) { return !worker.second.draining; };
  const auto& workers = table_.workers();
  const auto count = std::count_if(workers.begin(), workers.end(), stays);
  return std::clamp<uint64_t>(static_cast<uint64_t>(count), 1, kSlotsMax);
}

// A worker came: a run whose first slot has not ended has a slot for it. One
// that comes in the place of a lost one goes on with that one's.
void Dispatcher::GrowRuns() {
  std::optional<uint64_t> slots;  // thousands may come at once, and none matter
  for (const auto& [name, work] : runs_) {
    const JobState& job = *state_.FindJob(name);
    if (job.settled) continue;
    if (!slots) slots = SlotsNow();
    if (job.slots < *slots) Extend(name, *slots, false);
  }
}

void Dispatcher::Extend(const JobName& name, uint64_t slots, bool last) {
  Commit(RunExtended{name, slots, last});
  const auto run = runs_.find(name);
  if (run != runs_.end()) run->second.dry_told = state_.FindJob(name)->dry();
  for (const auto& [consumer, session] : state_.FindJob(name)->sessions) {
    dirty_sessions_.insert({name, consumer});
  }
}

// What a reader was told by a dispatcher whose store was lost, or by another
// one, before its token was saved. A run that is settled grows for that only
// where it would cut off what was said to be the end, or was read.
void Dispatcher::LearnSlots(const ClientHello& hello) {
  const JobState& job = *state_.FindJob(hello.job);
  const bool planning = job.phase == RunPhase::kPlanning;
  if (hello.slots == 0 || job.over() || (!planning && job.slots == 0)) return;
  const uint64_t slots = std::min(hello.slots, kSlotsMax);
  if (!job.settled) {
    if (slots > job.slots || hello.settled) {
      Extend(hello.job, std::max(slots, job.slots), hello.settled);
    }
  } else if (slots > job.slots &&
             (hello.settled || (!planning && hello.cursor.p > job.positions))) {
    Extend(hello.job, slots, true);
  }
}

// Nobody may be at the end of a run before all agree on where that is: it is
// settled when someone is through with its first slot.
void Dispatcher::SettleIfDue(const JobName& name) {
  const JobState& job = *state_.FindJob(name);
  if (job.phase != RunPhase::kRunning || job.settled) return;
  const uint64_t slot = job.positions / job.slots;
  bool due = job.DoneRanks() > 0 || job.ended_positions >= slot;
  if (job.order == Order::kDeterministic) {
    for (const auto& [consumer, session] : job.sessions) {
      const Cursor taken =
          session.waiting.empty()
              ? session.next
              : state_.FindSplit(*session.waiting.begin())->taken;
      due = due || taken.p >= slot;
    }
  }
  if (due) Extend(name, job.slots, true);
}

}  // namespace feedmill
