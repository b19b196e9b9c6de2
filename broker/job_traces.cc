#include "broker/job_traces.h"

#include <algorithm>
#include <variant>

#include "broker/status_report.h"
#include "core/base/status.h"

namespace feedmill {
namespace {

constexpr size_t kTracesMax = 4;  // at a time
constexpr absl::Duration kTraceMax = absl::Minutes(10);
constexpr absl::Duration kGrace = absl::Seconds(1);
// A trace for whose spans no tool has asked for this long is forgotten.
constexpr absl::Duration kTraceForgotten = absl::Seconds(10);
constexpr size_t kJobsNamed = 10;

std::string ReaderProcess(const SessionKey& key) {
  const std::string& consumer = key.consumer.value();
  if (consumer == "solo") return "reader " + key.job.value();
  const bool is_rank = consumer.find('/') != consumer.npos;
  return fmt::format("reader {}{}{}", key.job.value(), is_rank ? " rank " : " ",
                     consumer);
}

}  // namespace

TraceReport JobTraces::Answer(absl::Time now, const TraceRequest& request) {
  EndDue(now);
  TraceReport report;
  const auto known = traces_.find(request.job);
  if (known == traces_.end() || known->second.id() != request.trace) {
    report.status = Begin(now, request);
  }
  if (!report.status.ok()) return report;
  report = traces_.at(request.job).Report(now, request.from);
  if (const JobState* job = context_.state->FindJob(request.job);
      job != nullptr) {
    report.waits_for = verdicts_.WaitsFor(*job);
    report.places = context_.plans.PlacesOf(*job);
  }
  return report;
}

absl::Status JobTraces::Begin(absl::Time now, const TraceRequest& request) {
  if (!request.begin) {
    return NotFound(
        "the dispatcher does not know this trace of job '{}' any more: it was "
        "restarted, or was not asked for {}; trace the job again",
        request.job.value(), absl::FormatDuration(kTraceForgotten));
  }
  const JobState* job = context_.state->FindJob(request.job);
  if (job == nullptr) {
    std::string names;
    size_t count = 0;
    for (const auto& [name, each] : context_.state->jobs) {
      if (++count > kJobsNamed) break;
      names += (names.empty() ? "'" : ", '") + name.value() + "'";
    }
    return NotFound("there is no job '{}'; {}", request.job.value(),
                    names.empty() ? "there are none" : "there are " + names);
  }
  if (job->over()) {
    return FailedPrecondition("job '{}' is {}: nothing of it happens now",
                              request.job.value(), StateName(*job));
  }
  if (request.duration <= absl::ZeroDuration() ||
      request.duration > kTraceMax) {
    return InvalidArgument("a trace of {}; up to {} make sense",
                           absl::FormatDuration(request.duration),
                           absl::FormatDuration(kTraceMax));
  }
  const auto other = traces_.find(request.job);
  if (other != traces_.end() && other->second.runs(now)) {
    return FailedPrecondition(
        "job '{}' is being traced by another process for {} more",
        request.job.value(),
        absl::FormatDuration(absl::Trunc(other->second.end() - now + kGrace,
                                         absl::Milliseconds(100))));
  }
  if (other != traces_.end()) traces_.erase(other);
  if (traces_.size() >= kTracesMax) {
    return ResourceExhausted("{} jobs are being traced; wait for them",
                             traces_.size());
  }
  JobTrace& trace =
      traces_
          .try_emplace(request.job, request.trace, now, request.duration,
                       std::max(kGrace, 3 * context_.clock.Interval()))
          .first->second;
  for (const auto& [consumer, session] : job->sessions) {
    for (const SplitId& id : session.waiting) {
      const SplitState& split = *context_.state->FindSplit(id);
      trace.NoteBound(now, id, split.begin, split.end);
      NoteLeases(now, trace, id);
    }
  }
  NotifyPeers(request.job);
  return absl::OkStatus();
}

// Has the processes of the job hear that its trace begins or ends.
void JobTraces::NotifyPeers(const JobName& name) {
  for (const auto& [id, worker] : context_.leases.workers()) {
    context_.outbox.AnswerWorker(id);
  }
  const JobState* job = context_.state->FindJob(name);
  if (job != nullptr) context_.outbox.AnswerSessions(*job);
}

void JobTraces::EndDue(absl::Time now) {
  for (auto it = traces_.begin(); it != traces_.end();) {
    const auto trace = it++;
    const JobName job = trace->first;
    const bool forgotten = now - trace->second.asked() > kTraceForgotten;
    const bool ends = trace->second.TakeEnd(now);
    if (forgotten) traces_.erase(trace);
    if (ends || forgotten) NotifyPeers(job);
  }
}

void JobTraces::NoteLeases(absl::Time now, JobTrace& trace, const SplitId& id) {
  const SplitState* split = context_.state->FindSplit(id);
  const LeaseTable::Work* work = context_.leases.Find(id);
  if (split == nullptr || work == nullptr) return trace.NoteOver(now, id);
  trace.NoteLeases(now, id, split->begin, split->end, work->leases, true);
}

// Notes in the traces the changes of the present call.
void JobTraces::NoteChanges(absl::Time now,
                            const std::vector<SplitId>& changed) {
  bool ended = false;
  for (const DispatcherEvent& event : context_.state.events()) {
    ended = ended || std::holds_alternative<SessionClosed>(event) ||
            std::holds_alternative<JobForgotten>(event);
    const auto* bound = std::get_if<SplitsBound>(&event);
    if (bound == nullptr) continue;
    const auto trace = traces_.find(bound->owner.job);
    if (trace == traces_.end()) continue;
    for (uint64_t k = 0; k < bound->count(); ++k) {
      const uint64_t begin = bound->begin.p + k * bound->size;
      trace->second.NoteBound(
          now, bound->name(k), {begin, 0},
          {begin + std::min(bound->size, bound->end.p - begin), 0});
    }
  }
  for (auto& [job, trace] : traces_) {
    for (const SplitId& id : changed) {
      const SplitState* split = context_.state->FindSplit(id);
      if (split != nullptr && split->owner.job != job) continue;
      NoteLeases(now, trace, id);
    }
    if (!ended) continue;
    for (const SplitId& id : trace.open()) {
      if (context_.state->FindSplit(id) == nullptr) trace.NoteOver(now, id);
    }
  }
}

void JobTraces::TakeSpans(absl::Time now, const SessionKey& key,
                          Incarnation incarnation, const SpanBatch& batch) {
  const auto trace = traces_.find(key.job);
  if (trace == traces_.end() || trace->second.id() != batch.trace) return;
  trace->second.Add(now, {ReaderProcess(key), incarnation}, batch);
}

void JobTraces::TakeSpans(absl::Time now, const WorkerBeat& beat) {
  for (const SpanBatch& batch : beat.spans) {
    for (auto& [job, trace] : traces_) {
      if (trace.id() != batch.trace) continue;
      trace.Add(now, {JobTrace::WorkerProcess(beat.worker), beat.incarnation},
                batch);
    }
  }
}

uint64_t JobTraces::TraceOf(absl::Time now, const JobName& job) const {
  const auto trace = traces_.find(job);
  return trace == traces_.end() || !trace->second.runs(now)
             ? 0
             : trace->second.id();
}

std::optional<TraceOrder> JobTraces::OrderFor(absl::Time now) const {
  TraceOrder order{now, {}};
  for (const auto& [job, trace] : traces_) {
    if (trace.runs(now)) order.traces.push_back(trace.id());
  }
  if (order.traces.empty()) return std::nullopt;
  return order;
}

std::optional<TraceOrder> JobTraces::OrderFor(absl::Time now,
                                              const JobName& job) const {
  const uint64_t trace = TraceOf(now, job);
  if (trace == 0) return std::nullopt;
  return TraceOrder{now, {trace}};
}

}  // namespace feedmill
