#include "broker/absent_ranks.h"

#include <algorithm>
#include <set>

#include "broker/run_choice.h"

namespace feedmill {
namespace {

// Maximum number of absent ranks that an answer names.
constexpr uint64_t kNamedMax = 16;
constexpr absl::Duration kForgetInterval = absl::Seconds(10);

}  // namespace

void AbsentRanks::Note(const JobState& job, uint64_t rank,
                       LastMessage message) {
  if (job.order != Order::kDeterministic || job.ranks == 1) return;
  const std::pair key(job.name, rank);
  const auto known = messages_.find(key);
  if (known == messages_.end()) {
    if (job.finished.contains(rank) ||
        messages_.size() < settings_.sessions_max) {
      messages_.emplace(key, message);
    }
  } else if (known->second.incarnation <= message.incarnation) {
    known->second = message;  // not a late copy from an earlier life
  }
}

void AbsentRanks::NoteAll(absl::Time now, const JobState& job) {
  for (const auto& [rank, finished] : job.finished) {
    Note(job, rank, {Incarnation(), now});
  }
  for (const auto& [consumer, session] : job.sessions) {
    Erase(job.name, session.share.rank);
  }
}

void AbsentRanks::NoteRunsEnd(const JobState& job, ReaderTable& readers) {
  for (const auto& [consumer, session] : job.sessions) {
    const SessionKey key{job.name, consumer};
    const auto message = messages_.find({job.name, session.share.rank});
    if (message != messages_.end() &&
        session.incarnation < message->second.incarnation) {
      readers.NoteReplaced({key, session.incarnation},
                           TakenOver(job.name, consumer));
    } else {
      Note(job, session.share.rank,
           {session.incarnation, readers.At(key).heard});
    }
  }
}

void AbsentRanks::NoteLastLife(absl::Time now, const JobState& job,
                               const Session& session) {
  if (!IsLastLife(session, job)) return;
  const std::optional<uint64_t> rank = RankOf(session.consumer, job);
  if (rank) Note(job, *rank, {session.incarnation, now});
}

void AbsentRanks::Forget(const JobName& job) {
  messages_.erase(messages_.lower_bound({job, 0}),
                  messages_.upper_bound({job, ~uint64_t{0}}));
}

void AbsentRanks::ForgetSilent(absl::Time now, const DispatcherState& state) {
  if (now < next_forget_) return;
  next_forget_ = now + kForgetInterval;
  std::erase_if(messages_, [&](const auto& entry) {
    const auto& [job_name, rank] = entry.first;
    const JobState* job = state.FindJob(job_name);
    return job == nullptr ||
           (!job->finished.contains(rank) &&
            now - entry.second.heard > clock_.ClientTimeout(*job));
  });
}

// Walks the known ranks once, in ascending order: each of many waiting ranks
// asks several times a second.
PendingRanks AbsentRanks::Behind(absl::Time now, const ClientHello& hello,
                                 const JobState& job) const {
  PendingRanks behind;
  if (job.order != Order::kDeterministic || job.phase == RunPhase::kFailed ||
      hello.share.ranks != job.ranks) {
    return behind;
  }
  const RunNumber wanted = RunOf(hello, job);
  if (wanted <= job.run) return behind;
  // A store that was emptied does not know the ranks that are at their end. If
  // the store knows where this rank is, it knows all ranks.
  const bool all = job.Done(hello.share.rank) && !job.over();
  const absl::Time silent = now - clock_.ClientTimeout(job);
  const auto add = [&](uint64_t rank, uint64_t count) {
    behind.count += count;
    for (; count > 0 && behind.ranks.size() < kNamedMax; --count) {
      behind.ranks.push_back(rank++);
    }
  };
  auto known = job.finished.begin();
  auto message = messages_.lower_bound({job.name, 0});
  for (uint64_t rank = 0; rank < job.ranks; ++rank) {
    const bool more =
        message != messages_.end() && message->first.first == job.name;
    const uint64_t next =
        std::min(known == job.finished.end() ? job.ranks : known->first,
                 more ? message->first.second : job.ranks);
    if (all) add(rank, next - rank);  // ranks that have not joined yet
    rank = next;
    if (rank == job.ranks) break;
    const bool met = known != job.finished.end() && known->first == rank;
    const RunNumber finished = met ? (known++)->second : RunNumber();
    const bool sent = more && message->first.second == rank;
    const LastMessage* const last = sent ? &(message++)->second : nullptr;
    const bool heard = sent && silent < last->heard;
    if (rank == hello.share.rank) continue;
    if (heard && last->wants) {
      // The rank has finished the run before the run that it wants, even if an
      // earlier life is still in it.
      if (*last->wants < wanted) add(rank, 1);
    } else if (!met) {
      if (all) add(rank, 1);
    } else if (finished.value() + 1 < wanted.value()) {
      const bool gone = sent && !heard && clock_.MayJudge(now);
      if (!gone || !hello.take_over) add(rank, 1);
    }
  }
  return behind;
}

PendingRanks AbsentRanks::Unmet(const JobState& job) {
  PendingRanks unmet;
  unmet.count = job.ranks - job.finished.size();
  const uint64_t named = std::min(unmet.count, kNamedMax);
  for (uint64_t rank = 0; unmet.ranks.size() < named; ++rank) {
    if (!job.finished.contains(rank)) unmet.ranks.push_back(rank);
  }
  return unmet;
}

RanksLeft AbsentRanks::ToEnd(const JobState& job) const {
  RanksLeft left;
  std::set<uint64_t> reading;
  for (const auto& [consumer, session] : job.sessions) {
    reading.insert(session.share.rank);
  }
  for (uint64_t rank = 0; rank < job.ranks; ++rank) {
    if (reading.contains(rank)) {
      left.reading.push_back(rank);
    } else if (!job.Done(rank)) {
      left.missing.push_back(rank);
    }
  }
  auto message = messages_.lower_bound({job.name, 0});
  for (; message != messages_.end() && message->first.first == job.name;
       ++message) {
    const std::optional<RunNumber>& wants = message->second.wants;
    left.next_is_asked_for =
        left.next_is_asked_for || (wants && job.run < *wants);
  }
  return left;
}

}  // namespace feedmill
