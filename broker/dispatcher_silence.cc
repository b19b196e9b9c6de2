#include <algorithm>
#include <vector>

#include "broker/dispatcher.h"
#include "core/base/status.h"

// Peers that are silent for too long.

namespace feedmill {

// Detects that the dispatcher itself stalled, e.g. on a slow disk. Messages
// that arrived meanwhile are still unread, so no peer counts as silent until
// they are read.
void Dispatcher::NoteStall(absl::Time now) {
  const absl::Duration timeout = Timeout(settings_.worker_timeout);
  if (now - next_tick_ <= timeout / 2) return;
  heard_from_ = now;
  judge_from_ = now + timeout;
  next_tick_ = now;
}

void Dispatcher::ReleaseSilentSessions(absl::Time now) {
  ForgetSilentRanks(now);
  std::vector<SessionKey> silent;
  for (const auto& [key, listener] : listeners_) {
    if (now - listener.heard > ClientTimeout(*state_.FindJob(key.job))) {
      silent.push_back(key);
    }
  }
  for (const SessionKey& key : silent) {
    const JobState& job = *state_.FindJob(key.job);
    const SessionState& session = job.sessions.at(key.consumer);
    NoteWord(job, session.share.rank,
             {session.incarnation, listeners_.at(key).heard});
    NoteReaderSilent(key, now - listeners_.at(key).heard);
    const bool anonymous = job.anonymous();
    const bool shared = job.order == Order::kAny && !anonymous;
    CloseSession(key, shared);
    ++faults_.sessions_released;
    if (anonymous) {
      ForgetJob(key.job);
    } else if (shared) {
      BindJob(now, key.job);
    }
  }
}

// Visits the workers only if oldest_heard_ is too old, because there may be
// thousands of them.
void Dispatcher::LoseSilentWorkers(absl::Time now) {
  const absl::Time last = now - Timeout(settings_.worker_timeout);
  if (oldest_heard_ >= last) return;
  oldest_heard_ = now;
  std::vector<WorkerId> lost;
  for (const auto& [id, worker] : table_.workers()) {
    // The interval grows with the number of workers. A worker may still use a
    // long interval after others left.
    if (worker.heard < std::min(last, now - 4 * worker.interval)) {
      lost.push_back(id);
    } else {
      oldest_heard_ = std::min(oldest_heard_, worker.heard);
    }
  }
  for (const WorkerId& id : lost) {
    const KnownWorker& worker = *table_.FindWorker(id);
    LoseWorker(id, worker.gone,
               fmt::format("{} {:.1f} s ago",
                           worker.gone ? "its connection ended, and its last "
                                         "heartbeat came"
                                       : "its last heartbeat came",
                           absl::ToDoubleSeconds(now - worker.heard)));
  }
  if (!lost.empty()) AssignResolutions();
}

}  // namespace feedmill
