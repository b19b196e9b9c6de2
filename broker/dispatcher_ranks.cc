#include <algorithm>
#include <iterator>
#include <set>

#include "broker/dispatcher.h"
#include "broker/run_choice.h"
#include "core/base/status.h"

// Ranks: those that need the same pieces are bound the same ranges, and who is
// ahead waits for the others.

namespace feedmill {
namespace {

// Ranges that are remembered for ranks that are behind.
constexpr size_t kRangesMax = 4'096;
// Ranks that are named to one that waits for them.
constexpr uint64_t kNamedMax = 16;

}  // namespace

// Positions of the next split: as many as another rank was given there, if all
// need the same, so that what one has is made for all.
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

// Whether all ranks of the job need the same pieces: whose an element is shows
// only when all before it are made.
bool Dispatcher::Together(const JobState& job) {
  if (job.ranks < 2 || !planner_.numbered) return false;
  const auto plan = plans_.find(job.plan);
  if (plan == plans_.end()) return false;
  std::optional<bool>& numbered = plan->second.numbered;
  if (!numbered.has_value()) numbered = planner_.numbered(RunGraph(job));
  return !*numbered;
}

// For the other ranks, if there are any who need the same.
std::optional<Kin> Dispatcher::Remember(const JobState& job, const SplitId& id,
                                        RunWork& work) {
  if (!Together(job)) return std::nullopt;
  const SplitState& split = *state_.FindSplit(id);
  work.ranges.insert_or_assign(split.begin.p, split.end.p);
  if (work.ranges.size() > kRangesMax) work.ranges.erase(work.ranges.begin());
  return Kin{job.plan, split.end.p};
}

// ---- who waits for whom

bool Dispatcher::WaitsForRanks(const ClientHello& hello) const {
  static_cast<void>(hello);  // whatever it takes over
  return true;
}

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
  const std::set<uint64_t> gone =
      hello.take_over ? GoneRanks(now, job) : std::set<uint64_t>();
  for (const auto& [rank, finished] : job.finished) {
    const std::optional<RunNumber> waits = WaitsFor(job, rank);
    const bool there =
        waits ? wanted <= *waits
              : finished.value() + 1 >= wanted.value() || gone.contains(rank);
    if (there || rank == hello.share.rank) continue;
    ++behind.count;
    if (behind.ranks.size() < kNamedMax) behind.ranks.push_back(rank);
  }
  AddUnmet(job, hello.share.rank, wanted, behind);
  std::sort(behind.ranks.begin(), behind.ranks.end());
  behind.ranks.resize(std::min(behind.ranks.size(), kNamedMax));
  return behind;
}

// Ranks that had no session so far: who waits says where it is, and the others
// are still to come. An emptied store does not know of those that have come to
// their end; one that knows where a rank is knows of all.
void Dispatcher::AddUnmet(const JobState& job, uint64_t own, RunNumber wanted,
                          Behind& behind) const {
  uint64_t unmet = job.ranks - job.finished.size();
  const auto first = rank_words_.lower_bound({job.name, 0});
  for (auto word = first;
       word != rank_words_.end() && word->first.first == job.name; ++word) {
    const uint64_t rank = word->first.second;
    if (!word->second.wants || job.finished.contains(rank)) continue;
    --unmet;
    if (rank == own || wanted <= *word->second.wants) continue;
    ++behind.count;
    behind.ranks.push_back(rank);
  }
  if (!job.Done(own) || job.over()) return;
  behind.count += unmet;
  size_t named = 0;
  for (uint64_t rank = 0; named < std::min(unmet, kNamedMax); ++rank) {
    if (WaitsFor(job, rank) || job.finished.contains(rank)) continue;
    behind.ranks.push_back(rank);
    ++named;
  }
}

// The run that it says to wait for, whatever an earlier life of it does: it has
// finished the one before.
std::optional<RunNumber> Dispatcher::WaitsFor(const JobState& job,
                                              uint64_t rank) const {
  const auto word = rank_words_.find({job.name, rank});
  if (word == rank_words_.end()) return std::nullopt;
  return word->second.wants;
}

// Ranks that were there, and have been silent for so long that their sessions
// were released.
std::set<uint64_t> Dispatcher::GoneRanks(absl::Time now,
                                         const JobState& job) const {
  std::set<uint64_t> gone;
  const absl::Time since = now - ClientTimeout(job);
  if (now < judge_from_ || since <= started_) return gone;
  for (const auto& [rank, finished] : job.finished) gone.insert(rank);
  for (const auto& [consumer, session] : job.sessions) {
    gone.erase(session.share.rank);
  }
  std::erase_if(gone, [&](uint64_t rank) {
    const auto word = rank_words_.find({job.name, rank});
    return word != rank_words_.end() && since <= word->second.heard;
  });
  return gone;
}

void Dispatcher::NoteWord(const JobState& job, uint64_t rank, RankWord word) {
  if (job.order != Order::kDeterministic || job.ranks == 1) return;
  const std::pair key(job.name, rank);
  const auto known = rank_words_.find(key);
  if (known == rank_words_.end()) {
    if (rank_words_.size() < settings_.sessions_max) {
      rank_words_.emplace(key, word);
    }
  } else if (known->second.incarnation <= word.incarnation) {
    known->second = word;  // not a late copy of an earlier life's
  }
}

// Another run begins: its ranks say where they are again.
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

// It has no session, and still reads.
void Dispatcher::NoteLastLife(absl::Time now, const JobName& name,
                              const Session& session) {
  const JobState* job = state_.FindJob(name);
  if (job == nullptr || !IsLastLife(session, *job)) return;
  const std::optional<uint64_t> rank = RankOf(session.consumer, *job);
  if (rank) NoteWord(*job, *rank, {session.incarnation, now});
}

// A leave whose session was released, or ended as another rank took the job
// back: what it has read need not be read again.
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
  Commit(RankFinished{key, leave.session.incarnation, *rank, leave.run});
  if (job->phase != RunPhase::kRunning) return;
  if (job->DoneRanks() >= job->ranks) {
    FinishRun(leave.job, false);
  } else {
    SettleIfDue(leave.job);
  }
}

void Dispatcher::ForgetWords(const JobName& job) {
  rank_words_.erase(rank_words_.lower_bound({job, 0}),
                    rank_words_.upper_bound({job, ~uint64_t{0}}));
}

void Dispatcher::ForgetSilentRanks(absl::Time now) {
  std::erase_if(rank_words_, [&](const auto& entry) {
    const JobState* job = state_.FindJob(entry.first.first);
    return job == nullptr || now - entry.second.heard > ClientTimeout(*job);
  });
}

}  // namespace feedmill
