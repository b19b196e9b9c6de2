#include <algorithm>
#include <iterator>

#include "broker/dispatcher.h"
#include "broker/run_choice.h"
#include "core/base/status.h"

// Ranks. Ranks that need the same data are bound to the same ranges. A rank
// that is ahead waits for the other ranks.

namespace feedmill {
namespace {

// Maximum number of ranges kept for ranks that are behind.
constexpr size_t kRangesMax = 4'096;
// Maximum number of awaited ranks that an answer names.
constexpr uint64_t kNamedMax = 16;
constexpr absl::Duration kForgetInterval = absl::Seconds(10);

}  // namespace

// Returns the number of positions of the next split. If another rank was bound
// to a range there, the split ends where that range ends, so that workers
// compute the data of both once.
uint64_t Dispatcher::SplitSize(const JobState& job, Cursor begin,
                               uint64_t remaining, const RunWork& work,
                               SplitSizer& sizer) {
  const auto next = work.ranges.upper_bound(begin.p);
  if (next != work.ranges.begin() && std::prev(next)->second > begin.p) {
    return std::prev(next)->second - begin.p;
  }
  const uint64_t size =
      sizer.Next(plans_.at(job.plan).cost, remaining, table_.slots());
  return next == work.ranges.end() ? size
                                   : std::min(size, next->first - begin.p);
}

// True if all ranks of the job need the same data: the rank of an element is
// known only when all elements before it are made.
bool Dispatcher::Together(const JobState& job) {
  if (job.ranks < 2 || !planner_.numbered) return false;
  const auto plan = plans_.find(job.plan);
  if (plan == plans_.end()) return false;
  std::optional<bool>& numbered = plan->second.numbered;
  if (!numbered.has_value()) numbered = planner_.numbered(RunGraph(job));
  return !*numbered;
}

// Keeps the split's range for the other ranks and returns the key of the
// co-located splits. Nullopt if the other ranks do not need the same data.
std::optional<Kin> Dispatcher::Remember(const JobState& job, const SplitId& id,
                                        RunWork& work) {
  if (!Together(job)) return std::nullopt;
  const SplitState& split = *state_.FindSplit(id);
  work.ranges.insert_or_assign(split.begin.p, split.end.p);
  if (work.ranges.size() > kRangesMax) work.ranges.erase(work.ranges.begin());
  return Kin{job.plan, split.end.p};
}

// ---- ranks that wait for other ranks

bool Dispatcher::WaitsForRanks(const ClientHello& hello) const {
  static_cast<void>(hello);  // true for every hello, also with take_over
  return true;
}

// Walks the known ranks once, in ascending order: each of many waiting ranks
// asks several times a second.
Dispatcher::Behind Dispatcher::RanksBehind(absl::Time now,
                                           const ClientHello& hello,
                                           const JobState& job) const {
  Behind behind;
  if (job.order != Order::kDeterministic || job.phase == RunPhase::kFailed ||
      hello.share.ranks != job.ranks || !WaitsForRanks(hello)) {
    return behind;
  }
  const RunNumber wanted = RunOf(hello, job);
  if (wanted <= job.run) return behind;
  // A store that was emptied does not know the ranks that are at their end. If
  // the store knows where this rank is, it knows all ranks.
  const bool all = job.Done(hello.share.rank) && !job.over();
  const absl::Time silent = now - ClientTimeout(job);
  const auto add = [&](uint64_t rank, uint64_t count) {
    behind.count += count;
    for (; count > 0 && behind.ranks.size() < kNamedMax; --count) {
      behind.ranks.push_back(rank++);
    }
  };
  auto known = job.finished.begin();
  auto word = rank_words_.lower_bound({job.name, 0});
  for (uint64_t rank = 0; rank < job.ranks; ++rank) {
    const bool more =
        word != rank_words_.end() && word->first.first == job.name;
    const uint64_t next =
        std::min(known == job.finished.end() ? job.ranks : known->first,
                 more ? word->first.second : job.ranks);
    if (all) add(rank, next - rank);  // ranks that have not joined yet
    rank = next;
    if (rank == job.ranks) break;
    const bool met = known != job.finished.end() && known->first == rank;
    const RunNumber finished = met ? (known++)->second : RunNumber();
    const bool said = more && word->first.second == rank;
    const RankWord* const says = said ? &(word++)->second : nullptr;
    const bool heard = said && silent < says->heard;
    if (rank == hello.share.rank) continue;
    if (heard && says->wants) {
      // The rank has finished the run before the run that it wants, even if an
      // earlier life is still in it.
      if (*says->wants < wanted) add(rank, 1);
    } else if (!met) {
      if (all) add(rank, 1);
    } else if (finished.value() + 1 < wanted.value()) {
      const bool gone = said && !heard && judge_from_ <= now;
      if (!gone || !hello.take_over) add(rank, 1);
    }
  }
  return behind;
}

// Returns the ranks that this store has not met.
Dispatcher::Behind Dispatcher::RanksUnmet(const JobState& job) {
  Behind unmet;
  unmet.count = job.ranks - job.finished.size();
  const uint64_t named = std::min(unmet.count, kNamedMax);
  for (uint64_t rank = 0; unmet.ranks.size() < named; ++rank) {
    if (!job.finished.contains(rank)) unmet.ranks.push_back(rank);
  }
  return unmet;
}

// Records a message of a rank without a session.
void Dispatcher::NoteWord(const JobState& job, uint64_t rank, RankWord word) {
  if (job.order != Order::kDeterministic || job.ranks == 1) return;
  const std::pair key(job.name, rank);
  const auto known = rank_words_.find(key);
  if (known == rank_words_.end()) {
    if (job.finished.contains(rank) ||
        rank_words_.size() < settings_.sessions_max) {
      rank_words_.emplace(key, word);
    }
  } else if (known->second.incarnation <= word.incarnation) {
    known->second = word;  // not a late copy from an earlier life
  }
}

// After a restart, all ranks without a session count as heard now.
void Dispatcher::NoteAllRanks(absl::Time now, const JobState& job) {
  for (const auto& [rank, finished] : job.finished) {
    NoteWord(job, rank, {Incarnation(), now});
  }
  for (const auto& [consumer, session] : job.sessions) {
    rank_words_.erase({job.name, session.share.rank});
  }
}

// Records the ranks' last messages when another run begins. Its ranks report
// their position again.
void Dispatcher::NoteRunsEnd(const JobState& job) {
  for (const auto& [consumer, session] : job.sessions) {
    const SessionKey key{job.name, consumer};
    const auto word = rank_words_.find({job.name, session.share.rank});
    if (word != rank_words_.end() &&
        session.incarnation < word->second.incarnation) {
      ousted_.Add({key, session.incarnation}, TakenOver(job.name, consumer));
    } else {
      NoteWord(job, session.share.rank,
               {session.incarnation, listeners_.at(key).heard});
    }
  }
}

// Records a message of a consumer's last life that has no session, but still
// reads.
void Dispatcher::NoteLastLife(absl::Time now, const JobName& name,
                              const Session& session) {
  const JobState* job = state_.FindJob(name);
  if (job == nullptr || !IsLastLife(session, *job)) return;
  const std::optional<uint64_t> rank = RankOf(session.consumer, *job);
  if (rank) NoteWord(*job, *rank, {session.incarnation, now});
}

// Handles a leave whose session was released, or ended because another rank
// went back to an earlier run. The run that the reader finished stays finished.
void Dispatcher::NoteLateLeave(absl::Time now, const ClientLeave& leave) {
  const SessionKey key{leave.job, leave.session.consumer};
  const JobState* job = state_.FindJob(leave.job);
  if (job == nullptr || IsClosed(key, leave.session.incarnation) ||
      !IsLastLife(leave.session, *job)) {
    return;
  }
  const std::optional<uint64_t> rank = RankOf(key.consumer, *job);
  const bool replaced = std::any_of(
      job->sessions.begin(), job->sessions.end(),
      [&](const auto& entry) { return entry.second.share.rank == rank; });
  if (!rank || replaced) return;
  NoteWord(*job, *rank, {leave.session.incarnation, now});
  const auto finished = job->finished.find(*rank);
  if (finished == job->finished.end() || leave.run <= finished->second) return;
  if (leave.run == job->run) NoteEnding(*job, leave.why);
  Commit(RankFinished{key, leave.session.incarnation, *rank, leave.run});
  if (job->phase != RunPhase::kRunning) return;
  if (job->DoneRanks() >= job->ranks) {
    FinishRun(leave.job, false);
  } else {
    SettleIfDue(now, leave.job);
  }
}

void Dispatcher::ForgetWords(const JobName& job) {
  rank_words_.erase(rank_words_.lower_bound({job, 0}),
                    rank_words_.upper_bound({job, ~uint64_t{0}}));
}

// Drops ranks that are silent and have finished no run. Silent ranks that have
// finished a run are kept.
void Dispatcher::ForgetSilentRanks(absl::Time now) {
  if (now < forget_words_) return;
  forget_words_ = now + kForgetInterval;
  std::erase_if(rank_words_, [&](const auto& entry) {
    const auto& [job_name, rank] = entry.first;
    const JobState* job = state_.FindJob(job_name);
    return job == nullptr || (!job->finished.contains(rank) &&
                              now - entry.second.heard > ClientTimeout(*job));
  });
}

}  // namespace feedmill
