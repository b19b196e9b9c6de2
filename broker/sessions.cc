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

// Returns the latest life that makes the hello's a former one, by their
// numbers. The numbers are of the clocks of the readers' machines, so the
// reader decides by the time since the dispatcher met that life.
std::optional<ClientReject::LaterLife> Sessions::LaterLife(
    absl::Time now, const ClientHello& hello) const {
  const SessionKey own{hello.job, hello.session.consumer};
  const JobState* const job = context_.state->FindJob(hello.job);
  std::optional<ClientReject::LaterLife> later;
  const auto consider = [&](const ConsumerId& consumer, Incarnation life) {
    if (life <= hello.session.incarnation) return;
    const absl::Duration met =
        now - context_.readers.MetAt({hello.job, consumer}, life)
                  .value_or(context_.clock.started());
    later = later.has_value()
                ? ClientReject::LaterLife{std::max(later->life, life),
                                          std::min(later->met, met)}
                : ClientReject::LaterLife{life, met};
  };
  const auto closed = context_.state->closed.find(own);
  if (closed != context_.state->closed.end()) {
    consider(own.consumer, closed->second);
  }
  if (job == nullptr) return later;
  if (job->order == Order::kAny) return std::nullopt;
  for (const auto& [consumer, life] : job->lives) {
    if (consumer == own.consumer || job->ranks != hello.share.ranks) {
      consider(consumer, life);
    }
  }
  return later;
}

void Sessions::Refuse(absl::Time now, const PeerId& to,
                      const ClientHello& hello, const absl::Status& status) {
  context_.log.SessionRefused(hello, status);
  context_.readers.NoteRefused(
      {{hello.job, hello.session.consumer}, hello.session.incarnation}, status);
  context_.outbox.Reject(to, hello.job, hello.session, RejectReason::kRefused,
                         status, LaterLife(now, hello));
}

// Rejects a session that is over. If another session replaced it, the message
// names that session.
void Sessions::RejectOver(const PeerId& to, const JobName& name,
                          const Session& session, RejectReason reason,
                          std::optional<ClientReject::LaterLife> later) {
  absl::Status detail;
  if (reason == RejectReason::kSuperseded) {
    const SessionKey key{name, session.consumer};
    const absl::Status* why =
        context_.readers.WhyReplaced({key, session.incarnation});
    const JobState* job = context_.state->FindJob(name);
    if (why != nullptr) {
      detail = *why;
    } else if (job != nullptr) {
      detail = WhyOver(
          session, *job,
          context_.rules->IsClosed(*context_.state, key, session.incarnation));
    }
    context_.log.SessionFenced(name, session, detail);
  }
  context_.outbox.Reject(to, name, session, reason, std::move(detail), later);
}

// ---- hello

void Sessions::Take(absl::Time now, const PeerId& from,
                    const ClientHello& hello) {
  const SessionKey key{hello.job, hello.session.consumer};
  const Incarnation life = hello.session.incarnation;
  if (absl::Status status = Admission::CheckForm(hello); !status.ok()) {
    return context_.outbox.Reject(from, hello.job, hello.session,
                                  RejectReason::kRefused, std::move(status));
  }
  if (const auto* refused = context_.readers.WhyRefused({key, life})) {
    return context_.outbox.Reject(from, hello.job, hello.session,
                                  RejectReason::kRefused, *refused,
                                  LaterLife(now, hello));
  }
  if (context_.rules->IsClosed(*context_.state, key, life)) {
    return RejectOver(from, hello.job, hello.session,
                      context_.rules->WhyClosed(*context_.state, hello.job),
                      LaterLife(now, hello));
  }
  const JobState* job = context_.state->FindJob(hello.job);
  const SessionState* known = context_.state->FindSession(key);
  if (job != nullptr && IsFormerLife(hello.session, *job, known)) {
    return RejectOver(from, hello.job, hello.session, RejectReason::kSuperseded,
                      LaterLife(now, hello));
  }
  context_.readers.NoteMet(key, life, now);
  const bool repeated = known != nullptr && known->incarnation == life &&
                        (!hello.run || *hello.run == job->run);
  if (!repeated) {
    if (job != nullptr && MustWait(now, from, hello, *job)) return;
    context_.outbox.CancelSendLast(from);  // from an earlier hello of this call
    // The reader repeats its hello.
    if (admission_.FindsUnread(now, hello)) return;
    absl::Status status = admission_.Check(now, hello);
    if (status.ok()) status = runs_.Prepare(hello);
    if (!status.ok()) return Refuse(now, from, hello, status);
    Open(now, hello);
  } else {
    context_.outbox.CancelSendLast(from);
  }
  NoteHeard(now, from, key);
  settler_.Learn(hello);
  // Also for a repeated hello: a crash may have lost the plan.
  runs_.PlanIfDue(now, hello.job);
  settler_.SettleIfDue(now, hello.job);
  binder_.Bind(now, key);
  context_.outbox.AnswerSession(key);
}

// Answers a reader that cannot join yet: its run is over, or it waits for ranks
// that are behind. False if it may join.
bool Sessions::MustWait(absl::Time now, const PeerId& from,
                        const ClientHello& hello, const JobState& job) {
  const bool failed = job.phase == RunPhase::kFailed;
  const bool old_run = (hello.run || !failed) && RunOf(hello, job) < job.run;
  if (old_run && !GoesBack(hello, job)) {
    context_.outbox.Reject(from, hello.job, hello.session,
                           RejectReason::kSuperseded, WhyOld(hello, job),
                           LaterLife(now, hello));
    return true;
  }
  if (!context_.rules->WaitsForRanks(hello)) return false;
  PendingRanks behind = context_.ranks.Behind(now, hello, job);
  if (behind.count == 0) return false;
  context_.ranks.Note(job, hello.share.rank,
                      {hello.session.incarnation, now, RunOf(hello, job)});
  answers_.AnswerAwaiting(from, hello, job, std::move(behind));
  return true;
}

void Sessions::Open(absl::Time now, const ClientHello& hello) {
  const SessionKey key{hello.job, hello.session.consumer};
  const JobState& job = *context_.state->FindJob(hello.job);
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
  if (job.ranks != hello.share.ranks) context_.ranks.Forget(hello.job);
  context_.ranks.Erase(hello.job, hello.share.rank);
  const SessionState* known = context_.state->FindSession(key);
  if (known != nullptr) context_.leases.RemoveAll(known->splits);
  const Cursor start = job.sequenced ? Cursor{0, hello.number} : hello.cursor;
  context_.state.Commit(
      SessionOpened{key, hello.session.incarnation, start, hello.share});
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
  const SessionState& session = *context_.state->FindSession(key);
  const std::string& name = by.session.consumer.value();
  context_.readers.NoteReplaced(
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
  const JobState* job = context_.state->FindJob(beat.job);
  const SessionState* session = context_.state->FindSession(key);
  if (session == nullptr || beat.run != job->run ||
      !context_.rules->IsCurrent(session->incarnation,
                                 beat.session.incarnation)) {
    if (job != nullptr) context_.ranks.NoteLastLife(now, *job, beat.session);
    return RejectOver(from, beat.job, beat.session,
                      context_.rules->WhyUnknown(*context_.state, beat));
  }
  KnownReader& reader = NoteHeard(now, from, key);
  reader.beat_sent = beat.sent;
  if (!beat.links.empty()) reader.links = beat.links;
  if (beat.load.has_value()) TakeLoad(now, key, reader, *beat.load);
  if (beat.spans.has_value()) {
    traces_.TakeSpans(now, key, beat.session.incarnation, *beat.spans);
  }
  context_.outbox.AnswerSession(key);
  reports_.TakeProgress(now, key, beat.splits);
  runs_.FinishIfComplete(now, key.job);
  binder_.Bind(now, key);
}

KnownReader& Sessions::NoteHeard(absl::Time now, const PeerId& from,
                                 const SessionKey& key) {
  if (context_.state->FindSession(key)->silence > 0) {
    context_.state.Commit(ReaderSilent{key, 0});
  }
  return context_.readers.NoteHeard(key, from, now);
}

void Sessions::TakeLoad(absl::Time now, const SessionKey& key,
                        KnownReader& reader, const ReaderLoad& load) {
  const std::vector<std::string> before = reader.window.last().unreachable;
  const ReaderTable::SkippedElements skipped =
      context_.readers.AddLoad(now, key.job, reader, load);
  if (skipped.added > 0) {
    context_.log.ElementsSkipped(key.job, skipped.added, skipped.all,
                                 load.skipped_elements);
  }
  for (const std::string& worker : reader.window.last().unreachable) {
    if (std::find(before.begin(), before.end(), worker) == before.end()) {
      context_.log.WorkerUnreachable(key, WorkerId(worker));
    }
  }
}

// ---- the end of a session

void Sessions::Take(absl::Time now, const PeerId& from,
                    const ClientLeave& leave) {
  const SessionKey key{leave.job, leave.session.consumer};
  const JobState* job = context_.state->FindJob(leave.job);
  const SessionState* session = context_.state->FindSession(key);
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
             context_.rules->IsClosed(*context_.state, key,
                                      leave.session.incarnation)) {
    runs_.Finish(leave.job, false);  // a crash lost the run's end
  } else if (!unread) {
    TakeLate(now, leave);
  }
  context_.outbox.Reject(from, leave.job, leave.session,
                         RejectReason::kReleased);
}

// Handles the last message of an open session. A reader that never learned its
// run read nothing, so it has finished nothing.
void Sessions::TakeLast(absl::Time now, const SessionKey& key,
                        const ClientLeave& leave) {
  const JobState* job = context_.state->FindJob(leave.job);
  const SessionState* session = context_.state->FindSession(key);
  const bool unread = leave.run == RunNumber();
  reports_.TakeProgress(now, key, leave.splits);
  context_.ranks.Note(*job, session->share.rank, {session->incarnation, now});
  if (!unread) runs_.NoteEnding(*job, leave.why);
  if (leave.load.has_value()) {
    TakeLoad(now, key, *context_.readers.Find(key), *leave.load);
  }
  Close(key, !unread);
  if (job->anonymous()) {
    if (job->sessions.empty()) {
      if (!job->over()) context_.log.JobEnded(*job);
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
  const JobState* job = context_.state->FindJob(leave.job);
  if (job == nullptr ||
      context_.rules->IsClosed(*context_.state, key,
                               leave.session.incarnation) ||
      !IsLastLife(leave.session, *job)) {
    return;
  }
  const std::optional<uint64_t> rank = RankOf(key.consumer, *job);
  const bool replaced = std::any_of(
      job->sessions.begin(), job->sessions.end(),
      [&](const auto& entry) { return entry.second.share.rank == rank; });
  if (!rank || replaced) return;
  context_.ranks.Note(*job, *rank, {leave.session.incarnation, now});
  const auto finished = job->finished.find(*rank);
  if (finished == job->finished.end() || leave.run <= finished->second) return;
  if (leave.run == job->run) runs_.NoteEnding(*job, leave.why);
  context_.state.Commit(
      RankFinished{key, leave.session.incarnation, *rank, leave.run});
  if (job->phase != RunPhase::kRunning) return;
  if (job->DoneRanks() >= job->ranks) {
    runs_.Finish(leave.job, false);
  } else {
    settler_.SettleIfDue(now, leave.job);
  }
}

void Sessions::Close(const SessionKey& key, bool for_good) {
  context_.leases.RemoveAll(context_.state->FindSession(key)->splits);
  context_.state.Commit(SessionClosed{key, for_good});
  context_.readers.Drop(key);
  // The session's splits may be free to bind again.
  binder_.NoteExhaustionSent(*context_.state->FindJob(key.job));
}

void Sessions::ReleaseSilent(absl::Time now) {
  context_.ranks.ForgetSilent(now, *context_.state);
  std::vector<SessionKey> silent;
  for (const auto& [key, reader] : context_.readers.readers()) {
    const JobState& job = *context_.state->FindJob(key.job);
    const absl::Duration timeout = context_.clock.ClientTimeout(job);
    if (now - reader.heard > timeout) {
      silent.push_back(key);
      continue;
    }
    // Noted, so that a dispatcher that restarts often releases the session,
    // too.
    const auto eighths = static_cast<uint64_t>(absl::FDivDuration(
        now - reader.heard, timeout / static_cast<int64_t>(kSilenceMax)));
    if (eighths > job.sessions.at(key.consumer).silence) {
      context_.state.Commit(ReaderSilent{key, eighths});
    }
  }
  for (const SessionKey& key : silent) {
    const JobState& job = *context_.state->FindJob(key.job);
    const SessionState& session = job.sessions.at(key.consumer);
    const absl::Time heard = context_.readers.At(key).heard;
    context_.ranks.Note(job, session.share.rank, {session.incarnation, heard});
    context_.log.SessionReleased(key, now - heard);
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
