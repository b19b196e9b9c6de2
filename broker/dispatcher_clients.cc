#include <algorithm>
#include <utility>

#include "broker/dispatcher.h"
#include "broker/run_choice.h"
#include "core/base/status.h"

// The dispatcher's handlers of client messages.

namespace feedmill {
namespace {

constexpr size_t kNameBytesMax = 256;
constexpr size_t kGraphBytesMax = size_t{16} << 20;

// Clamps a report to the split and to its known progress: a late report must
// not move the cursors back.
SplitReport Clamped(const SplitReport& report, const SplitState& split) {
  const Cursor taken = std::clamp(report.taken, split.taken, split.end);
  return {report.split, taken, std::clamp(report.out, split.out, taken)};
}

// True if both shares have elements in common: the same rank, or different
// numbers of ranks.
bool Conflict(const Share& a, const Share& b) {
  return a.ranks != b.ranks || a.rank == b.rank;
}

std::string_view OrderName(Order order) {
  return order == Order::kAny ? "any" : "deterministic";
}

}  // namespace

void Dispatcher::Reject(const PeerId& to, const JobName& job,
                        const Session& session, RejectReason reason,
                        absl::Status detail) {
  Send(to, ClientReject{job, session, reason, std::move(detail)});
}

// Rejects a session that is over. If another session replaced it, the message
// names that session.
void Dispatcher::RejectOver(const PeerId& to, const JobName& name,
                            const Session& session, RejectReason reason) {
  absl::Status detail;
  if (reason == RejectReason::kSuperseded) {
    ++faults_.sessions_fenced;
    const SessionKey key{name, session.consumer};
    const absl::Status* why = ousted_.Find({key, session.incarnation});
    const JobState* job = state_.FindJob(name);
    if (why != nullptr) {
      detail = *why;
    } else if (job != nullptr) {
      detail = WhyOver(session, *job, IsClosed(key, session.incarnation));
    }
    NoteReader(name, fmt::format("reader '{}' of job '{}' was fenced{}{}",
                                 session.consumer.value(), name.value(),
                                 detail.ok() ? "" : ": ", ErrorText(detail)));
  }
  Reject(to, name, session, reason, std::move(detail));
}

// ---- hello

void Dispatcher::On(absl::Time now, const PeerId& from,
                    const ClientHello& hello) {
  const SessionKey key{hello.job, hello.session.consumer};
  if (absl::Status status = CheckHello(hello); !status.ok()) {
    return Reject(from, hello.job, hello.session, RejectReason::kRefused,
                  std::move(status));
  }
  if (const auto* refused = refused_.Find({key, hello.session.incarnation})) {
    return Reject(from, hello.job, hello.session, RejectReason::kRefused,
                  *refused);
  }
  if (IsClosed(key, hello.session.incarnation)) {
    return RejectOver(from, hello.job, hello.session, WhyClosed(hello.job));
  }
  const JobState* job = state_.FindJob(hello.job);
  const SessionState* known = state_.FindSession(key);
  // A life before the last life is over, even if the session of the last life
  // was released for silence.
  const bool old_life =
      (known != nullptr && hello.session.incarnation < known->incarnation) ||
      (known == nullptr && job != nullptr &&
       job->lives.contains(key.consumer) &&
       hello.session.incarnation < job->lives.at(key.consumer));
  if (old_life) {
    return RejectOver(from, hello.job, hello.session,
                      RejectReason::kSuperseded);
  }
  const bool repeated = known != nullptr &&
                        known->incarnation == hello.session.incarnation &&
                        (!hello.run || *hello.run == job->run);
  const bool failed = job != nullptr && job->phase == RunPhase::kFailed;
  const bool old_run = job != nullptr && !repeated && (hello.run || !failed) &&
                       RunOf(hello, *job) < job->run;
  if (old_run && !GoesBack(hello, *job)) {
    return Reject(from, hello.job, hello.session, RejectReason::kSuperseded,
                  WhyOld(hello, *job));
  }
  if (!repeated && job != nullptr) {
    Behind behind = RanksBehind(now, hello, *job);
    if (behind.count > 0) {
      NoteWord(*job, hello.share.rank,
               {hello.session.incarnation, now, RunOf(hello, *job)});
      return AnswerAwaiting(from, hello, *job, std::move(behind));
    }
  }
  awaiting_.erase(from);  // from an earlier hello of this turn
  if (!repeated) {
    if (FindsUnread(now, hello)) return;  // the reader repeats its hello
    absl::Status status = CheckReader(now, hello);
    if (status.ok()) status = PrepareJob(hello);
    if (!status.ok()) return Refuse(from, hello, status);
    OpenSession(now, hello);
  }
  Listener& listener = listeners_[key];
  listener.address = from;
  listener.heard = now;
  job = state_.FindJob(hello.job);
  LearnSlots(hello);
  // Also for a repeated hello: a crash may have lost the plan.
  if (job->phase == RunPhase::kPlanning) {
    if (job->resolved) {
      PlanRun(now, hello.job);
    } else {
      AwaitManifest(*job);
      AssignResolutions();
    }
  }
  SettleIfDue(now, hello.job);
  Bind(now, key);
  dirty_sessions_.insert(key);
}

// Answers without opening a session; the reader repeats its hello.
void Dispatcher::AnswerAwaiting(const PeerId& to, const ClientHello& hello,
                                const JobState& job, Behind behind) {
  ClientAnswer answer;
  answer.job = hello.job;
  answer.session = hello.session;
  answer.workers = static_cast<uint32_t>(table_.workers().size());
  answer.heartbeat_interval = Interval();
  answer.client_timeout = ClientTimeout(job);
  answer.seen = seen();
  answer.awaited = behind.count;
  answer.awaited_ranks = std::move(behind.ranks);
  awaiting_.insert_or_assign(to, std::move(answer));
}

void Dispatcher::Refuse(const PeerId& to, const ClientHello& hello,
                        const absl::Status& status) {
  ++faults_.sessions_refused;
  NoteReader(hello.job, fmt::format("reader '{}' of job '{}' was refused: {}",
                                    hello.session.consumer.value(),
                                    hello.job.value(), ErrorText(status)));
  refused_.Add({{hello.job, hello.session.consumer}, hello.session.incarnation},
               status);
  Reject(to, hello.job, hello.session, RejectReason::kRefused, status);
}

absl::Status Dispatcher::CheckHello(const ClientHello& hello) const {
  if (hello.job.value().empty() || hello.session.consumer.value().empty()) {
    return InvalidArgument("the hello lacks a job or a consumer name");
  }
  if (hello.job.value().size() > kNameBytesMax ||
      hello.session.consumer.value().size() > kNameBytesMax) {
    return InvalidArgument("job and consumer names have at most {} bytes",
                           kNameBytesMax);
  }
  if (hello.graph.size() > kGraphBytesMax) {
    return InvalidArgument("the pipeline has {} bytes, more than {}",
                           hello.graph.size(), kGraphBytesMax);
  }
  if (!hello.share.sound()) {
    return InvalidArgument("there is no rank {} of {}", hello.share.rank,
                           hello.share.ranks);
  }
  if (!hello.share.whole() && hello.order != Order::kDeterministic) {
    return InvalidArgument(
        "ranks need order deterministic; with order any, readers share a job "
        "by its name alone");
  }
  if (!hello.share.whole() &&
      hello.session.consumer.value() !=
          fmt::format("{}/{}", hello.share.rank, hello.share.ranks)) {
    return InvalidArgument("rank {} of {} cannot be named '{}'",
                           hello.share.rank, hello.share.ranks,
                           hello.session.consumer.value());
  }
  if (hello.run && hello.run->value() == 0) {
    return InvalidArgument("run numbers begin at 1");
  }
  return absl::OkStatus();
}

// True if this reader would replace a session that was not heard since the
// dispatcher's last stall. That session's leave or beat may be still unread.
bool Dispatcher::FindsUnread(absl::Time now, const ClientHello& hello) const {
  const JobState* job = state_.FindJob(hello.job);
  if (now >= judge_from_ || job == nullptr || hello.take_over ||
      job->order != Order::kDeterministic || job->over()) {
    return false;
  }
  return std::any_of(
      job->sessions.begin(), job->sessions.end(), [&](const auto& entry) {
        return Conflict(entry.second.share, hello.share) &&
               listeners_.at({hello.job, entry.first}).heard < heard_from_;
      });
}

bool Dispatcher::GoesOn(const ClientHello& hello) const {
  return hello.run.has_value() && !hello.begins;
}

// OK if this reader may join the job in its present state.
absl::Status Dispatcher::CheckReader(absl::Time now,
                                     const ClientHello& hello) const {
  const JobState* job = state_.FindJob(hello.job);
  if (job == nullptr || job->phase == RunPhase::kFailed) {
    return absl::OkStatus();
  }
  const std::string& name = hello.job.value();
  if (hello.graph != job->graph) {
    FM_ASSIGN_OR_RETURN(const std::string fingerprint,
                        planner_.fingerprint(hello.graph));
    if (fingerprint != job->fingerprint) {
      return FailedPrecondition(
          "job '{}' exists with another pipeline (fingerprint {}, this one "
          "has {}); read it under another --job name",
          name, job->fingerprint, fingerprint);
    }
  }
  if (hello.order != job->order) {
    return FailedPrecondition(
        "job '{}' exists with order {}, this reader wants {}; set "
        "options.order to the same or use another --job name",
        name, OrderName(job->order), OrderName(hello.order));
  }
  if (listeners_.size() >= settings_.sessions_max) {
    return ResourceExhausted(
        "the dispatcher has {} readers, its limit; try again later",
        listeners_.size());
  }
  // The job counts as read even without sessions: ranks at their end may wait
  // for another rank.
  const bool read =
      !job->over() && (!job->sessions.empty() || job->DoneRanks() > 0);
  if ((read || hello.run) && Outlived(hello, *job)) {
    return FailedPrecondition(
        "job '{}' is read by {} consumers by now; this one is of {}", name,
        job->ranks, hello.share.ranks);
  }
  FM_RETURN_IF_ERROR(CheckSlots(hello, *job));
  const bool goes_on = GoesOn(hello);
  if (job->order != Order::kDeterministic || hello.take_over ||
      job->phase == RunPhase::kFinished || (goes_on && *hello.run > job->run)) {
    return absl::OkStatus();
  }
  for (const auto& [consumer, session] : job->sessions) {
    if (!Conflict(session.share, hello.share)) continue;
    if (!LeaseValid(now, {hello.job, consumer})) continue;
    // A reader that continues its run replaces its earlier lives. If the
    // dispatcher lost its state, an earlier life may have joined again first.
    if (goes_on && session.incarnation < hello.session.incarnation &&
        (consumer == hello.session.consumer ||
         session.share.ranks != hello.share.ranks)) {
      continue;
    }
    return FailedPrecondition(
        "job '{}' is being read by '{}'; with order deterministic it has one "
        "reader, or one for each --consumer c/C: stop that one, use "
        "--take-over, or options.order any to share the job",
        name, consumer.value());
  }
  return absl::OkStatus();
}

// Creates the job if it is missing, and starts the run that this reader joins.
absl::Status Dispatcher::PrepareJob(const ClientHello& hello) {
  const JobState* job = state_.FindJob(hello.job);
  if (job != nullptr && job->phase == RunPhase::kFailed) {
    ForgetJob(hello.job);  // planning failed: try again
    job = nullptr;
  }
  if (job == nullptr) return CreateJob(hello);
  if (job->run == RunNumber()) {  // a crash lost its first run
    FM_ASSIGN_OR_RETURN(const bool needs_manifest,
                        planner_.needs_manifest(job->graph));
    if (!job->resolved && !needs_manifest) {
      Commit(ManifestKnown{hello.job, ""});
    }
    StartRun(hello.job, hello.run.value_or(RunNumber(1)));
  } else if (const RunNumber run = RunOf(hello, *job);
             run != job->run || (job->over() && !job->planned())) {
    StartRun(hello.job, run);
  }
  return absl::OkStatus();
}

absl::Status Dispatcher::CreateJob(const ClientHello& hello) {
  if (!hello.seed.has_value()) {
    return InvalidArgument("the hello of a new job carries no seed");
  }
  if (listeners_.size() >= settings_.sessions_max) {
    return ResourceExhausted(
        "the dispatcher has {} readers, its limit; try again later",
        listeners_.size());
  }
  FM_ASSIGN_OR_RETURN(const bool needs_manifest,
                      planner_.needs_manifest(hello.graph));
  FM_ASSIGN_OR_RETURN(const std::string fingerprint,
                      planner_.fingerprint(hello.graph));
  if (state_.jobs.size() >= settings_.jobs_max) {
    if (state_.idle_jobs.empty()) {
      return ResourceExhausted(
          "the dispatcher has {} jobs with readers, its limit; try again "
          "later",
          state_.jobs.size());
    }
    ForgetJob(JobName(state_.idle_jobs.begin()->second));
  }
  Commit(JobCreated{hello.job, hello.graph, fingerprint, hello.order,
                    *hello.seed});
  if (!needs_manifest) Commit(ManifestKnown{hello.job, ""});
  StartRun(hello.job, hello.run.value_or(RunNumber(1)));
  return absl::OkStatus();
}

void Dispatcher::StartRun(const JobName& name, RunNumber run) {
  const JobState& job = *state_.FindJob(name);
  DropWork(job);
  NoteRunsEnd(job);
  for (const auto& [consumer, session] : job.sessions) {
    listeners_.erase({name, consumer});
  }
  begun_before_.erase(name);
  Commit(RunStarted{name, run, run.value() - 1});
  NoteJobBegan(job);
}

void Dispatcher::OpenSession(absl::Time now, const ClientHello& hello) {
  const SessionKey key{hello.job, hello.session.consumer};
  const JobState& job = *state_.FindJob(hello.job);
  if (job.order == Order::kDeterministic) {
    std::vector<ConsumerId> others;
    for (const auto& [consumer, session] : job.sessions) {
      if (consumer != key.consumer && Conflict(session.share, hello.share)) {
        others.push_back(consumer);
      }
    }
    for (const ConsumerId& other : others) Oust({hello.job, other}, hello);
  }
  NoteBegunBefore(now, hello);
  if (job.ranks != hello.share.ranks) ForgetWords(hello.job);
  rank_words_.erase({hello.job, hello.share.rank});
  const SessionState* known = state_.FindSession(key);
  if (known != nullptr) DropWork(*known);
  Commit(
      SessionOpened{key, hello.session.incarnation, hello.cursor, hello.share});
  if (job.phase == RunPhase::kRunning && !runs_.contains(hello.job)) {
    BeginWork(job);
  }
  if (known != nullptr && job.order == Order::kAny) BindJob(now, hello.job);
}

// Closes a session that another consumer replaces, or an application with
// another number of ranks.
void Dispatcher::Oust(const SessionKey& key, const ClientHello& by) {
  const SessionState& session = *state_.FindSession(key);
  const std::string& name = by.session.consumer.value();
  ousted_.Add(
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
  CloseSession(key, true);
}

bool Dispatcher::LeaseValid(absl::Time now, const SessionKey& key) const {
  const auto it = listeners_.find(key);
  if (it == listeners_.end()) return false;
  const JobState& job = *state_.FindJob(key.job);
  return now - it->second.heard <= ClientTimeout(job) / 2;
}

// ---- beat

// Returns the reject reason for a closed session. A sharer may join again under
// a new name. With deterministic order, another session replaced this one.
RejectReason Dispatcher::WhyClosed(const JobName& name) const {
  const JobState* job = state_.FindJob(name);
  return job != nullptr && job->order == Order::kAny
             ? RejectReason::kReleased
             : RejectReason::kSuperseded;
}

RejectReason Dispatcher::WhyUnknown(const ClientBeat& beat) const {
  const JobState* job = state_.FindJob(beat.job);
  if (IsClosed({beat.job, beat.session.consumer}, beat.session.incarnation)) {
    return WhyClosed(beat.job);
  }
  if (job == nullptr || beat.run > job->run) return RejectReason::kUnknown;
  const auto it = job->sessions.find(beat.session.consumer);
  // An emptied store may have met a dead life of the consumer first. It may
  // also have met a life of a further run, which may have ended since. A later
  // life is therefore unknown, never superseded.
  if (it != job->sessions.end() &&
      it->second.incarnation < beat.session.incarnation) {
    return RejectReason::kUnknown;
  }
  if (job->order == Order::kDeterministic && it == job->sessions.end() &&
      IsLatestLife(beat.session, *job)) {
    return RejectReason::kUnknown;
  }
  return beat.run == job->run && it == job->sessions.end()
             ? RejectReason::kUnknown
             : RejectReason::kSuperseded;
}

void Dispatcher::On(absl::Time now, const PeerId& from,
                    const ClientBeat& beat) {
  const SessionKey key{beat.job, beat.session.consumer};
  const JobState* job = state_.FindJob(beat.job);
  const SessionState* session = state_.FindSession(key);
  if (session == nullptr || beat.run != job->run ||
      !IsCurrent(session->incarnation, beat.session.incarnation)) {
    NoteLastLife(now, beat.job, beat.session);
    return RejectOver(from, beat.job, beat.session, WhyUnknown(beat));
  }
  Listener& listener = listeners_[key];
  listener.address = from;
  listener.heard = now;
  listener.beat_sent = beat.sent;
  if (!beat.links.empty()) listener.links = beat.links;
  if (beat.load.has_value()) TakeLoad(now, beat.job, listener, *beat.load);
  if (beat.spans.has_value()) {
    TakeSpans(now, key, beat.session.incarnation, *beat.spans);
  }
  dirty_sessions_.insert(key);
  TakeReports(now, key, beat.splits);
  FinishIfComplete(now, key.job);
  Bind(now, key);
}

void Dispatcher::TakeReports(absl::Time now, const SessionKey& key,
                             const std::vector<SplitReport>& reports) {
  SplitsTaken taken;
  std::vector<SplitId> served;
  std::vector<SplitId> ended;
  for (const SplitReport& report : reports) {
    const SplitState* split = state_.FindSplit(report.split);
    if (split == nullptr || split->owner != key) continue;
    const SplitReport now_at = Clamped(report, *split);
    // The split is out, but still bound: a crash lost its end.
    if (now_at.out >= split->end) {
      ended.push_back(report.split);
    } else if (now_at.taken != split->taken || now_at.out != split->out) {
      if (now_at.taken >= split->end) served.push_back(report.split);
      taken.reports.push_back(now_at);
      table_.NoteProgress(report.split, now);
    }
  }
  if (!taken.reports.empty()) Commit(taken);
  for (const SplitReport& report : taken.reports) Advance(report.split);
  EndSplits(ended);
  for (const SplitId& split : served) table_.Remove(split);
  if (!served.empty() || !ended.empty()) Reindex(*state_.FindSession(key));
}

void Dispatcher::EndSplits(std::vector<SplitId>& splits) {
  if (splits.empty()) return;
  std::sort(splits.begin(), splits.end());
  splits.erase(std::unique(splits.begin(), splits.end()), splits.end());
  SplitsEnded ended;
  for (const SplitId& split : splits) {
    table_.Remove(split);
    if (ended.ranges.empty() ||
        ended.ranges.back().name(ended.ranges.back().count) != split) {
      ended.ranges.push_back({split, 0});
    }
    ++ended.ranges.back().count;
  }
  Commit(std::move(ended));
}

// ---- the end of a session

void Dispatcher::On(absl::Time now, const PeerId& from,
                    const ClientLeave& leave) {
  const SessionKey key{leave.job, leave.session.consumer};
  const JobState* job = state_.FindJob(leave.job);
  const SessionState* session = state_.FindSession(key);
  // Run 0: the reader never learned its run. It read nothing, so it has
  // finished nothing.
  const bool unread = leave.run == RunNumber();
  if (leave.spans.has_value()) {
    TakeSpans(now, key, leave.session.incarnation, *leave.spans);
  }
  if (session != nullptr && (unread || job->run == leave.run) &&
      session->incarnation == leave.session.incarnation) {
    TakeReports(now, key, leave.splits);
    NoteWord(*job, session->share.rank, {session->incarnation, now});
    if (!unread) NoteEnding(*job, leave.why);
    if (leave.load.has_value()) {
      TakeLoad(now, leave.job, listeners_.at(key), *leave.load);
    }
    CloseSession(key, !unread);
    if (job->anonymous()) {
      if (job->sessions.empty()) {
        if (!job->over()) NoteJobEnded(*job, job->ending);
        ForgetJob(leave.job);
      }
    } else if (job->order == Order::kAny) {
      BindJob(now, leave.job);
      FinishIfComplete(now, leave.job);
    } else if (!unread && !job->over() && job->DoneRanks() >= job->ranks) {
      FinishRun(leave.job, false);
    } else {
      SettleIfDue(now, leave.job);
    }
  } else if (job != nullptr && job->run == leave.run &&
             job->phase == RunPhase::kRunning && job->sessions.empty() &&
             job->order == Order::kDeterministic &&
             job->DoneRanks() >= job->ranks &&
             IsClosed(key, leave.session.incarnation)) {
    FinishRun(leave.job, false);  // a crash lost the run's end
  } else if (!unread) {
    NoteLateLeave(now, leave);
  }
  Reject(from, leave.job, leave.session, RejectReason::kReleased);
}

// Records a reader's reason if it is greater than the reasons so far. The
// greatest reason is the run's ending.
void Dispatcher::NoteEnding(const JobState& job, LeaveReason why) {
  const RunEnding ending = EndingOf(why);
  if (!job.over() && job.ending < ending) {
    Commit(EndingNoted{job.name, ending});
  }
}

// Returns the source's round (SourcePlan::round) for clients. After a restart
// it is computed again from the journaled job.
uint64_t Dispatcher::SourceRound(const JobState& job) {
  const auto plan = plans_.find(job.plan);
  if (job.source_size != kEndlessPositions || plan == plans_.end()) return 0;
  std::optional<uint64_t>& round = plan->second.source_round;
  if (!round.has_value()) {
    const absl::StatusOr<JobShape> shape =
        planner_.shape(job.graph, job.manifest, job.seed, job.iteration);
    round = shape.ok() ? shape->source_round : 0;
  }
  return *round;
}

void Dispatcher::CloseSession(const SessionKey& key, bool for_good) {
  DropWork(*state_.FindSession(key));
  Commit(SessionClosed{key, for_good});
  listeners_.erase(key);
  const auto run = runs_.find(key.job);
  if (run != runs_.end()) {  // its splits may be free to bind again
    run->second.dry_told = state_.FindJob(key.job)->dry();
  }
}

}  // namespace feedmill
