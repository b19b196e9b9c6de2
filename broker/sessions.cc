#include "broker/sessions.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "broker/run_choice.h"
#include "core/base/status.h"

namespace feedmill {
namespace {

// True if a later life of the consumer has followed the session's. A life
// before the last life is over, even if the session of the last life was
// released for silence.
bool IsFormerLife(const Session& session, const JobState& job,
                  const SessionState* known) {
  if (known != nullptr) return session.incarnation < known->incarnation;
  const auto life = job.lives.find(session.consumer);
  return life != job.lives.end() && session.incarnation < life->second;
}

}  // namespace

void Sessions::Refuse(const PeerId& to, const ClientHello& hello,
                      const absl::Status& status) {
  log_.SessionRefused(hello, status);
  readers_.NoteRefused(
      {{hello.job, hello.session.consumer}, hello.session.incarnation}, status);
  outbox_.Reject(to, hello.job, hello.session, RejectReason::kRefused, status);
}

// Rejects a session that is over. If another session replaced it, the message
// names that session.
void Sessions::RejectOver(const PeerId& to, const JobName& name,
                          const Session& session, RejectReason reason) {
  absl::Status detail;
  if (reason == RejectReason::kSuperseded) {
    const SessionKey key{name, session.consumer};
    const absl::Status* why = readers_.WhyReplaced({key, session.incarnation});
    const JobState* job = state_->FindJob(name);
    if (why != nullptr) {
      detail = *why;
    } else if (job != nullptr) {
      detail = WhyOver(session, *job,
                       rules_.IsClosed(*state_, key, session.incarnation));
    }
    log_.SessionFenced(name, session, detail);
  }
  outbox_.Reject(to, name, session, reason, std::move(detail));
}

// ---- hello

void Sessions::Take(absl::Time now, const PeerId& from,
                    const ClientHello& hello) {
  const SessionKey key{hello.job, hello.session.consumer};
  const Incarnation life = hello.session.incarnation;
  if (absl::Status status = Admission::CheckForm(hello); !status.ok()) {
    return outbox_.Reject(from, hello.job, hello.session,
                          RejectReason::kRefused, std::move(status));
  }
  if (const auto* refused = readers_.WhyRefused({key, life})) {
    return outbox_.Reject(from, hello.job, hello.session,
                          RejectReason::kRefused, *refused);
  }
  if (rules_.IsClosed(*state_, key, life)) {
    return RejectOver(from, hello.job, hello.session,
                      rules_.WhyClosed(*state_, hello.job));
  }
  const JobState* job = state_->FindJob(hello.job);
  const SessionState* known = state_->FindSession(key);
  if (job != nullptr && IsFormerLife(hello.session, *job, known)) {
    return RejectOver(from, hello.job, hello.session,
                      RejectReason::kSuperseded);
  }
  const bool repeated = known != nullptr && known->incarnation == life &&
                        (!hello.run || *hello.run == job->run);
  if (!repeated) {
    if (job != nullptr && MustWait(now, from, hello, *job)) return;
    outbox_.CancelSendLast(from);  // from an earlier hello of this call
    // The reader repeats its hello.
    if (admission_.FindsUnread(now, hello)) return;
    absl::Status status = admission_.Check(now, hello);
    if (status.ok()) status = runs_.Prepare(hello);
    if (!status.ok()) return Refuse(from, hello, status);
    Open(now, hello);
  } else {
    outbox_.CancelSendLast(from);
  }
  readers_.NoteHeard(key, from, now);
  settler_.Learn(hello);
  // Also for a repeated hello: a crash may have lost the plan.
  runs_.PlanIfDue(now, hello.job);
  settler_.SettleIfDue(now, hello.job);
  binder_.Bind(now, key);
  outbox_.AnswerSession(key);
}

// Answers a reader that cannot join yet: its run is over, or it waits for ranks
// that are behind. False if it may join.
bool Sessions::MustWait(absl::Time now, const PeerId& from,
                        const ClientHello& hello, const JobState& job) {
  const bool failed = job.phase == RunPhase::kFailed;
  const bool old_run = (hello.run || !failed) && RunOf(hello, job) < job.run;
  if (old_run && !GoesBack(hello, job)) {
    outbox_.Reject(from, hello.job, hello.session, RejectReason::kSuperseded,
                   WhyOld(hello, job));
    return true;
  }
  if (!rules_.WaitsForRanks(hello)) return false;
  PendingRanks behind = ranks_.Behind(now, hello, job);
  if (behind.count == 0) return false;
  ranks_.Note(job, hello.share.rank,
              {hello.session.incarnation, now, RunOf(hello, job)});
  answers_.AnswerAwaiting(from, hello, job, std::move(behind));
  return true;
}

void Sessions::Open(absl::Time now, const ClientHello& hello) {
  const SessionKey key{hello.job, hello.session.consumer};
  const JobState& job = *state_->FindJob(hello.job);
  if (job.order == Order::kDeterministic) {
    std::vector<ConsumerId> others;
    for (const auto& [consumer, session] : job.sessions) {
      if (consumer != key.consumer && Conflict(session.share, hello.share)) {
        others.push_back(consumer);
      }
    }
    for (const ConsumerId& other : others) Replace({hello.job, other}, hello);
  }
  settler_.NoteReader(now, hello);
  if (job.ranks != hello.share.ranks) ranks_.Forget(hello.job);
  ranks_.Erase(hello.job, hello.share.rank);
  const SessionState* known = state_->FindSession(key);
  if (known != nullptr) leases_.RemoveAll(known->splits);
  state_.Commit(
      SessionOpened{key, hello.session.incarnation, hello.cursor, hello.share});
  if (job.phase == RunPhase::kRunning && !binder_.Binds(hello.job)) {
    binder_.Begin(job);
  }
  if (known != nullptr && job.order == Order::kAny) {
    binder_.BindJob(now, hello.job);
  }
}

// Closes a session that another consumer replaces, or an application with
// another number of ranks.
void Sessions::Replace(const SessionKey& key, const ClientHello& by) {
  const SessionState& session = *state_->FindSession(key);
  const std::string& name = by.session.consumer.value();
  readers_.NoteReplaced(
      {key, session.incarnation},
      session.share.ranks == by.share.ranks
          ? FailedPrecondition(
                "another reader, '{}', took over job '{}'; this one, '{}', "
                "stops",
                name, key.job.value(), key.consumer.value())
          : FailedPrecondition(
                "job '{}' is read by {} consumer{} by now: '{}' took it over; "
                "this one, '{}' of {}, stops",
                key.job.value(), by.share.ranks, by.share.ranks == 1 ? "" : "s",
                name, key.consumer.value(), session.share.ranks));
  Close(key, true);
}

// ---- beat

void Sessions::Take(absl::Time now, const PeerId& from,
                    const ClientBeat& beat) {
  const SessionKey key{beat.job, beat.session.consumer};
  const JobState* job = state_->FindJob(beat.job);
  const SessionState* session = state_->FindSession(key);
  if (session == nullptr || beat.run != job->run ||
      !rules_.IsCurrent(session->incarnation, beat.session.incarnation)) {
    if (job != nullptr) ranks_.NoteLastLife(now, *job, beat.session);
    return RejectOver(from, beat.job, beat.session,
                      rules_.WhyUnknown(*state_, beat));
  }
  KnownReader& reader = readers_.NoteHeard(key, from, now);
  reader.beat_sent = beat.sent;
  if (!beat.links.empty()) reader.links = beat.links;
  if (beat.load.has_value()) TakeLoad(now, key, reader, *beat.load);
  if (beat.spans.has_value()) {
    traces_.TakeSpans(now, key, beat.session.incarnation, *beat.spans);
  }
  outbox_.AnswerSession(key);
  reports_.TakeProgress(now, key, beat.splits);
  runs_.FinishIfComplete(now, key.job);
  binder_.Bind(now, key);
}

void Sessions::TakeLoad(absl::Time now, const SessionKey& key,
                        KnownReader& reader, const ReaderLoad& load) {
  const std::vector<std::string> before = reader.window.last().unreachable;
  const ReaderTable::SkippedElements skipped =
      readers_.AddLoad(now, key.job, reader, load);
  if (skipped.added > 0) {
    log_.ElementsSkipped(key.job, skipped.added, skipped.all,
                         load.skipped_elements);
  }
  for (const std::string& worker : reader.window.last().unreachable) {
    if (std::find(before.begin(), before.end(), worker) == before.end()) {
      log_.WorkerUnreachable(key, WorkerId(worker));
    }
  }
}

// ---- the end of a session

void Sessions::Take(absl::Time now, const PeerId& from,
                    const ClientLeave& leave) {
  const SessionKey key{leave.job, leave.session.consumer};
  const JobState* job = state_->FindJob(leave.job);
  const SessionState* session = state_->FindSession(key);
  // Run 0: the reader never learned its run.
  const bool unread = leave.run == RunNumber();
  if (leave.spans.has_value()) {
    traces_.TakeSpans(now, key, leave.session.incarnation, *leave.spans);
  }
  if (session != nullptr && (unread || job->run == leave.run) &&
      session->incarnation == leave.session.incarnation) {
    TakeLast(now, key, leave);
  } else if (job != nullptr && job->run == leave.run &&
             job->phase == RunPhase::kRunning && job->sessions.empty() &&
             job->order == Order::kDeterministic &&
             job->DoneRanks() >= job->ranks &&
             rules_.IsClosed(*state_, key, leave.session.incarnation)) {
    runs_.Finish(leave.job, false);  // a crash lost the run's end
  } else if (!unread) {
    TakeLate(now, leave);
  }
  outbox_.Reject(from, leave.job, leave.session, RejectReason::kReleased);
}

// Handles the last message of an open session. A reader that never learned its
// run read nothing, so it has finished nothing.
void Sessions::TakeLast(absl::Time now, const SessionKey& key,
                        const ClientLeave& leave) {
  const JobState* job = state_->FindJob(leave.job);
  const SessionState* session = state_->FindSession(key);
  const bool unread = leave.run == RunNumber();
  reports_.TakeProgress(now, key, leave.splits);
  ranks_.Note(*job, session->share.rank, {session->incarnation, now});
  if (!unread) runs_.NoteEnding(*job, leave.why);
  if (leave.load.has_value()) {
    TakeLoad(now, key, *readers_.Find(key), *leave.load);
  }
  Close(key, !unread);
  if (job->anonymous()) {
    if (job->sessions.empty()) {
      if (!job->over()) log_.JobEnded(*job);
      runs_.Forget(leave.job);
    }
  } else if (job->order == Order::kAny) {
    binder_.BindJob(now, leave.job);
    runs_.FinishIfComplete(now, leave.job);
  } else if (!unread && !job->over() && job->DoneRanks() >= job->ranks) {
    runs_.Finish(leave.job, false);
  } else {
    settler_.SettleIfDue(now, leave.job);
  }
}

// Handles a leave whose session was released, or ended because another rank
// went back to an earlier run. The run that the reader finished stays finished.
void Sessions::TakeLate(absl::Time now, const ClientLeave& leave) {
  const SessionKey key{leave.job, leave.session.consumer};
  const JobState* job = state_->FindJob(leave.job);
  if (job == nullptr ||
      rules_.IsClosed(*state_, key, leave.session.incarnation) ||
      !IsLastLife(leave.session, *job)) {
    return;
  }
  const std::optional<uint64_t> rank = RankOf(key.consumer, *job);
  const bool replaced = std::any_of(
      job->sessions.begin(), job->sessions.end(),
      [&](const auto& entry) { return entry.second.share.rank == rank; });
  if (!rank || replaced) return;
  ranks_.Note(*job, *rank, {leave.session.incarnation, now});
  const auto finished = job->finished.find(*rank);
  if (finished == job->finished.end() || leave.run <= finished->second) return;
  if (leave.run == job->run) runs_.NoteEnding(*job, leave.why);
  state_.Commit(RankFinished{key, leave.session.incarnation, *rank, leave.run});
  if (job->phase != RunPhase::kRunning) return;
  if (job->DoneRanks() >= job->ranks) {
    runs_.Finish(leave.job, false);
  } else {
    settler_.SettleIfDue(now, leave.job);
  }
}

void Sessions::Close(const SessionKey& key, bool for_good) {
  leases_.RemoveAll(state_->FindSession(key)->splits);
  state_.Commit(SessionClosed{key, for_good});
  readers_.Drop(key);
  // The session's splits may be free to bind again.
  binder_.NoteExhaustionSent(*state_->FindJob(key.job));
}

void Sessions::ReleaseSilent(absl::Time now) {
  ranks_.ForgetSilent(now, *state_);
  std::vector<SessionKey> silent;
  for (const auto& [key, reader] : readers_.readers()) {
    if (now - reader.heard > clock_.ClientTimeout(*state_->FindJob(key.job))) {
      silent.push_back(key);
    }
  }
  for (const SessionKey& key : silent) {
    const JobState& job = *state_->FindJob(key.job);
    const SessionState& session = job.sessions.at(key.consumer);
    const absl::Time heard = readers_.At(key).heard;
    ranks_.Note(job, session.share.rank, {session.incarnation, heard});
    log_.SessionReleased(key, now - heard);
    const bool anonymous = job.anonymous();
    const bool shared = job.order == Order::kAny && !anonymous;
    Close(key, shared);
    if (anonymous) {
      runs_.Forget(key.job);
    } else if (shared) {
      binder_.BindJob(now, key.job);
    }
  }
}

}  // namespace feedmill
