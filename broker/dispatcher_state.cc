#include "broker/dispatcher_state.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/status.h"

namespace feedmill {

RunEnding EndingOf(LeaveReason why) {
  switch (why) {
    case LeaveReason::kFinished:
      return RunEnding::kFinished;
    case LeaveReason::kCancelled:
      return RunEnding::kCancelled;
    case LeaveReason::kLeft:
      break;
  }
  return RunEnding::kLeft;
}

bool JobState::anonymous() const { return name.value().starts_with('@'); }

bool JobState::Done(uint64_t rank) const {
  const auto it = finished.find(rank);
  return it != finished.end() && it->second >= run;
}

uint64_t JobState::DoneRanks() const {
  return static_cast<uint64_t>(
      std::count_if(finished.begin(), finished.end(),
                    [&](const auto& entry) { return entry.second >= run; }));
}

bool JobState::exhausted() const {
  if (phase == RunPhase::kPlanning) return false;
  if (order == Order::kAny) {
    const RangePool::Range left = Unbound();
    return left.begin >= left.end;
  }
  uint64_t here = DoneRanks();
  for (const auto& [consumer, session] : sessions) {
    if (session.next.p < positions) return false;
    here += Done(session.share.rank) ? 0 : 1;
  }
  return here >= ranks;
}

RangePool::Range JobState::Unbound() const {
  if (!returned.empty()) return returned.First();
  return {{fresh, 0}, {positions, 0}};
}

void DispatcherState::Apply(const DispatcherEvent& event) {
  ++sequence;
  std::visit([this](const auto& e) { On(e); }, event);
}

const JobState* DispatcherState::FindJob(const JobName& name) const {
  const auto it = jobs.find(name);
  return it == jobs.end() ? nullptr : &it->second;
}

const SessionState* DispatcherState::FindSession(const SessionKey& key) const {
  const JobState* job = FindJob(key.job);
  if (job == nullptr) return nullptr;
  const auto it = job->sessions.find(key.consumer);
  return it == job->sessions.end() ? nullptr : &it->second;
}

const SplitState* DispatcherState::FindSplit(const SplitId& split) const {
  const auto it = splits.find(split);
  return it == splits.end() ? nullptr : &it->second;
}

JobState& DispatcherState::Job(const JobName& name) {
  const auto it = jobs.find(name);
  FM_CHECK(it != jobs.end());
  return it->second;
}

SessionState& DispatcherState::At(const SessionKey& key) {
  JobState& job = Job(key.job);
  const auto it = job.sessions.find(key.consumer);
  FM_CHECK(it != job.sessions.end());
  return it->second;
}

void DispatcherState::DropSplits(JobState& job, SessionState& session) {
  for (const SplitId& id : session.splits) {
    const auto it = splits.find(id);
    const SplitState& split = it->second;
    if (job.order == Order::kAny) {
      if (split.out < split.end) job.returned.Add(split.out, split.end);
      job.ended_positions += split.out.p - split.begin.p;
    }
    splits.erase(it);
    --job.open_splits;
  }
  session.splits.clear();
  session.waiting.clear();
}

// Makes the session's elements that have not left its buffer free to bind
// again.
void DispatcherState::Unbind(JobState& job, SessionState& session) {
  if (!session.splits.empty()) {
    session.next = splits.at(*session.splits.begin()).out;
  }
  DropSplits(job, session);
}

void DispatcherState::On(const JobCreated& event) {
  JobState job;
  job.name = event.job;
  job.graph = event.graph;
  job.fingerprint = event.fingerprint;
  job.order = event.order;
  job.seed = event.seed;
  job_bytes += job.bytes();
  const bool added = jobs.emplace(event.job, std::move(job)).second;
  FM_CHECK(added);
}

void DispatcherState::On(const RunStarted& event) {
  JobState& job = Job(event.job);
  for (auto& [consumer, session] : job.sessions) DropSplits(job, session);
  job.sessions.clear();
  job.returned.Clear();
  job.ended_positions = 0;
  job.fresh = 0;
  const auto known = job.passes_of.find(event.run);
  job.sequenced = false;
  job.settled = known != job.passes_of.end();
  job.passes = job.settled ? known->second : 0;
  job.run = event.run;
  job.iteration = event.iteration;
  job.phase = RunPhase::kPlanning;
  job.source_size = 0;
  job.positions = 0;
  job.plan = PlanId();
  job.ending = RunEnding::kNone;
  job.error = absl::OkStatus();
}

void DispatcherState::On(const ManifestKnown& event) {
  JobState& job = Job(event.job);
  job.resolved = true;
  job_bytes -= job.bytes();
  job.manifest = event.manifest;
  job_bytes += job.bytes();
}

void DispatcherState::On(const RunPlanned& event) {
  JobState& job = Job(event.job);
  job.phase = RunPhase::kRunning;
  job.source_size = event.source_size;
  job.positions = event.positions;
  job.first_split = event.first_split;
  job.plan = event.plan;
  job.passes = event.passes;
  job.settled = job.settled || event.passes == 0;
}

void DispatcherState::On(const SessionOpened& event) {
  JobState& job = Job(event.key.job);
  SessionState& session = job.sessions[event.key.consumer];
  DropSplits(job, session);
  session.incarnation = event.incarnation;
  session.next = event.start;
  session.share = event.share;
  session.silence = 0;
  if (job.order == Order::kDeterministic) {
    if (job.ranks != event.share.ranks) job.finished.clear();
    job.ranks = event.share.ranks;
    // All present ranks are kept, for any number of ranks, and some former
    // ones.
    if (job.lives.size() >= kClosedSessionsMax + job.ranks) job.lives.clear();
    job.finished[event.share.rank] =
        RunNumber(std::max<uint64_t>(1, job.run.value()) - 1);
    job.lives[event.key.consumer] = event.incarnation;
  }
  idle_jobs.erase({job.idle_since, job.name});
  // A sharer continues with the splits that other sharers left.
  if (job.order == Order::kAny) job.ending = RunEnding::kNone;
  // A reader whose cursor is before the end of a finished run continues the
  // run.
  if (job.phase == RunPhase::kFinished && job.order == Order::kDeterministic &&
      event.start.p < job.positions) {
    job.phase = RunPhase::kRunning;
    job.ending = RunEnding::kNone;
  }
}

void DispatcherState::On(const SplitsBound& event) {
  JobState& job = Job(event.owner.job);
  SessionState& session = At(event.owner);
  if (job.order == Order::kDeterministic) {
    session.next = event.end;
  } else if (!job.returned.empty()) {
    job.returned.TakeFirst(event.end);
  } else {
    job.fresh = event.end.p;
  }
  const uint64_t count = event.count();
  next_split = std::max(next_split, event.first.number + count);
  Cursor begin = event.begin;
  for (uint64_t k = 0; k < count; ++k) {
    const uint64_t left = event.end.p - begin.p;
    const Cursor end{begin.p + std::min(event.size, left), 0};
    const SplitId id = event.name(k);
    splits.emplace_hint(
        splits.end(), id,
        SplitState{event.owner, begin, end, begin, begin, absl::OkStatus()});
    session.splits.insert(session.splits.end(), id);
    session.waiting.insert(session.waiting.end(), id);
    begin = end;
  }
  job.open_splits += count;
}

void DispatcherState::On(const SplitsTaken& event) {
  for (const SplitReport& report : event.reports) {
    const auto it = splits.find(report.split);
    FM_CHECK(it != splits.end());
    SplitState& split = it->second;
    split.taken = std::max(split.taken, report.taken);
    split.out = std::max(split.out, report.out);
    if (split.served()) At(split.owner).waiting.erase(report.split);
  }
}

void DispatcherState::On(const SplitFailed& event) {
  const auto it = splits.find(event.split);
  FM_CHECK(it != splits.end());
  it->second.error = event.status;
}

void DispatcherState::On(const SplitsEnded& event) {
  for (const SplitRange& range : event.ranges) {
    for (uint64_t k = 0; k < range.count; ++k) End(range.name(k));
  }
}

void DispatcherState::End(const SplitId& id) {
  const auto it = splits.find(id);
  FM_CHECK(it != splits.end());
  const SplitState& split = it->second;
  JobState& job = Job(split.owner.job);
  SessionState& session = At(split.owner);
  job.ended_positions += split.end.p - split.begin.p;
  --job.open_splits;
  session.splits.erase(id);
  session.waiting.erase(id);
  splits.erase(it);
}

void DispatcherState::On(const SessionClosed& event) {
  JobState& job = Job(event.key.job);
  SessionState& session = At(event.key);
  const Incarnation incarnation = session.incarnation;
  if (event.for_good && job.order == Order::kDeterministic) {
    RunNumber& finished = job.finished[session.share.rank];
    finished = std::max(finished, job.run);
  }
  DropSplits(job, session);
  job.sessions.erase(event.key.consumer);
  if (job.sessions.empty()) {
    job.idle_since = sequence;
    idle_jobs.emplace(sequence, job.name);
  }
  if (event.for_good) Close(event.key, incarnation);
}

// Records a closed life, so that it is not opened again.
void DispatcherState::Close(const SessionKey& key, Incarnation incarnation) {
  const auto [it, added] = closed.emplace(key, incarnation);
  it->second = std::max(it->second, incarnation);
  if (!added) return;
  closed_order.push_back(key);
  if (closed_order.size() > kClosedSessionsMax) {
    closed.erase(closed_order.front());
    closed_order.pop_front();
  }
}

void DispatcherState::On(const RunFailed& event) {
  JobState& job = Job(event.job);
  for (auto& [consumer, session] : job.sessions) DropSplits(job, session);
  job.error = event.status;
  job.phase = RunPhase::kFailed;
}

void DispatcherState::On(const RunFinished& event) {
  JobState& job = Job(event.job);
  for (auto& [consumer, session] : job.sessions) DropSplits(job, session);
  for (auto& [rank, finished] : job.finished) {
    finished = std::max(finished, job.run);
  }
  // The other sharers have read the splits that a leaving sharer returned, so
  // its reason does not count.
  if (event.complete) {
    job.ending = job.order == Order::kAny
                     ? RunEnding::kFinished
                     : std::max(job.ending, RunEnding::kFinished);
  }
  job.phase = RunPhase::kFinished;
}

void DispatcherState::On(const RunExtended& event) {
  JobState& job = Job(event.job);
  const bool fewer = event.passes < job.passes;
  if (job.phase == RunPhase::kRunning) {
    job.positions = job.positions / job.passes * event.passes;
    for (auto& [consumer, session] : job.sessions) {
      if (fewer) Unbind(job, session);
    }
  }
  job.passes = event.passes;
  job.settled = job.settled || event.last;
  if (!job.settled) return;
  job.passes_of[job.run] = job.passes;
  if (job.passes_of.size() > kRunsMax)
    job.passes_of.erase(job.passes_of.begin());
}

void DispatcherState::On(const RankFinished& event) {
  RunNumber& finished = Job(event.key.job).finished[event.rank];
  finished = std::max(finished, event.run);
  Close(event.key, event.incarnation);
}

void DispatcherState::On(const EndingNoted& event) {
  JobState& job = Job(event.job);
  job.ending = std::max(job.ending, event.ending);
}

void DispatcherState::On(const DatasetRegistered& event) {
  datasets.emplace(event.id, event.graph);
}

void DispatcherState::On(const ScaleNoted& event) { scale = event.memory; }

void DispatcherState::On(const RunSequenced& event) {
  Job(event.job).sequenced = true;
}

void DispatcherState::On(const ReaderSilent& event) {
  At(event.key).silence = event.eighths;
}

void DispatcherState::On(const JobForgotten& event) {
  JobState& job = Job(event.job);
  for (auto& [consumer, session] : job.sessions) DropSplits(job, session);
  idle_jobs.erase({job.idle_since, job.name});
  job_bytes -= job.bytes();
  jobs.erase(event.job);
}

// ---- Describe

namespace {

std::string Text(const Cursor& cursor) {
  return fmt::format("({},{})", cursor.p, cursor.i);
}

std::string Text(const SessionKey& key) {
  return key.job.value() + "/" + key.consumer.value();
}

struct Describer {
  std::string operator()(const JobCreated& e) const {
    return fmt::format("job-created {} seed {}", e.job.value(), e.seed);
  }
  std::string operator()(const RunStarted& e) const {
    return fmt::format("run-started {} run {} iteration {}", e.job.value(),
                       e.run.value(), e.iteration);
  }
  std::string operator()(const ManifestKnown& e) const {
    return fmt::format("manifest-known {} {} bytes", e.job.value(),
                       e.manifest.size());
  }
  std::string operator()(const RunPlanned& e) const {
    return fmt::format(
        "run-planned {} {} positions{}", e.job.value(), e.positions,
        e.passes == 0 ? "" : fmt::format(" in {} passes", e.passes));
  }
  std::string operator()(const SessionOpened& e) const {
    return fmt::format(
        "session-opened {} #{} at {}{}", Text(e.key), e.incarnation.value(),
        Text(e.start),
        e.share.whole()
            ? ""
            : fmt::format(" rank {} of {}", e.share.rank, e.share.ranks));
  }
  std::string operator()(const SplitsBound& e) const {
    return fmt::format("splits-bound {}..{} {} [{}, {})", e.first.number,
                       e.first.number + e.count(), Text(e.owner), Text(e.begin),
                       Text(e.end));
  }
  std::string operator()(const SplitsTaken& e) const {
    std::string text = "splits-taken";
    for (const SplitReport& report : e.reports) {
      text += fmt::format(" {}:{}/{}", report.split.number, Text(report.taken),
                          Text(report.out));
    }
    return text;
  }
  std::string operator()(const SplitFailed& e) const {
    return fmt::format("split-failed {} {}", e.split.number,
                       ErrorText(e.status));
  }
  std::string operator()(const SplitsEnded& e) const {
    std::string text = "splits-ended";
    for (const SplitRange& range : e.ranges) {
      text += fmt::format(" {}..{}", range.first.number,
                          range.first.number + range.count);
    }
    return text;
  }
  std::string operator()(const SessionClosed& e) const {
    return fmt::format("session-closed {}{}", Text(e.key),
                       e.for_good ? " for good" : "");
  }
  std::string operator()(const RunFailed& e) const {
    return fmt::format("run-failed {} {}", e.job.value(), ErrorText(e.status));
  }
  std::string operator()(const RunFinished& e) const {
    return fmt::format("run-finished {}{}", e.job.value(),
                       e.complete ? "" : " early");
  }
  std::string operator()(const JobForgotten& e) const {
    return fmt::format("job-forgotten {}", e.job.value());
  }
  std::string operator()(const RankFinished& e) const {
    return fmt::format("rank-finished {} #{} run {}", Text(e.key),
                       e.incarnation.value(), e.run.value());
  }
  std::string operator()(const EndingNoted& e) const {
    return fmt::format("ending-noted {} {}", e.job.value(),
                       static_cast<int>(e.ending));
  }
  std::string operator()(const DatasetRegistered& e) const {
    return fmt::format("dataset-registered {}", e.id);
  }
  std::string operator()(const ScaleNoted& e) const {
    return fmt::format("scale-noted {} workers", e.memory.wanted);
  }
  std::string operator()(const RunSequenced& e) const {
    return fmt::format("run-sequenced {}", e.job.value());
  }
  std::string operator()(const ReaderSilent& e) const {
    return fmt::format("reader-silent {} for {}/{} of its timeout", Text(e.key),
                       e.eighths, kSilenceMax);
  }
  std::string operator()(const RunExtended& e) const {
    return fmt::format("run-extended {} to {} passes{}", e.job.value(),
                       e.passes, e.last ? " for good" : "");
  }
};

}  // namespace

std::string Describe(const DispatcherEvent& event) {
  return std::visit(Describer{}, event);
}

}  // namespace feedmill
