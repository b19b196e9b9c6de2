#include "broker/run_lifecycle.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "broker/run_choice.h"
#include "core/base/status.h"
#include "core/plan/plan_id.h"

namespace feedmill {
namespace {

// Workers compute the order that the dispatcher plans.
static_assert(kPlanVersion == 2 && kProtocolVersion == 4,
              "another plan version needs another protocol version");

PlanId MakePlanId(const JobState& job, const JobShape& shape) {
  const std::string& fingerprint =
      job.sequenced ? job.fingerprint : shape.fingerprint;
  std::string plan =
      PlanIdOf(fingerprint, shape.manifest_hash, job.seed, job.iteration);
  return PlanId(job.sequenced ? SequencePlanId(plan) : std::move(plan));
}

}  // namespace

void RunLifecycle::Restore(const JobState& job) {
  if (job.phase == RunPhase::kPlanning && !job.resolved) manifests_.Await(job);
  if (job.phase == RunPhase::kRunning) binder_.Begin(job);
}

absl::Status RunLifecycle::Prepare(const ClientHello& hello) {
  const JobState* job = context_.state->FindJob(hello.job);
  if (job != nullptr && job->phase == RunPhase::kFailed) {
    Forget(hello.job);  // planning failed: try again
    job = nullptr;
  }
  if (job == nullptr) return Create(hello);
  if (job->run == RunNumber()) {  // a crash lost its first run
    FM_ASSIGN_OR_RETURN(const bool needs_manifest,
                        context_.planner.needs_manifest(job->graph));
    if (!job->resolved && !needs_manifest) {
      context_.state.Commit(ManifestKnown{hello.job, ""});
    }
    Start(hello, hello.run.value_or(RunNumber(1)));
  } else if (const RunNumber run = RunOf(hello, *job);
             run != job->run || (job->over() && !job->planned())) {
    Start(hello, run);
  }
  return absl::OkStatus();
}

absl::Status RunLifecycle::Create(const ClientHello& hello) {
  if (!hello.seed.has_value()) {
    return InvalidArgument("the hello of a new job carries no seed");
  }
  if (context_.readers.size() >= context_.settings.sessions_max) {
    return ResourceExhausted(
        "the dispatcher has {} readers, its limit; try again later",
        context_.readers.size());
  }
  FM_ASSIGN_OR_RETURN(const bool needs_manifest,
                      context_.planner.needs_manifest(hello.graph));
  FM_ASSIGN_OR_RETURN(const std::string fingerprint,
                      context_.planner.fingerprint(hello.graph));
  if (context_.state->jobs.size() >= context_.settings.jobs_max) {
    if (context_.state->idle_jobs.empty()) {
      return ResourceExhausted(
          "the dispatcher has {} jobs with readers, its limit; try again "
          "later",
          context_.state->jobs.size());
    }
    Forget(JobName(context_.state->idle_jobs.begin()->second));
  }
  FM_RETURN_IF_ERROR(MakeRoom(hello.graph.size()));
  context_.state.Commit(JobCreated{hello.job, hello.graph, fingerprint,
                                   hello.order, *hello.seed});
  if (!needs_manifest) context_.state.Commit(ManifestKnown{hello.job, ""});
  Start(hello, hello.run.value_or(RunNumber(1)));
  return absl::OkStatus();
}

// Forgets the oldest jobs without readers until a job may have `bytes` more.
absl::Status RunLifecycle::MakeRoom(uint64_t bytes) {
  const uint64_t most = context_.settings.job_bytes_max;
  while (bytes > most - std::min(most, context_.state->job_bytes)) {
    if (context_.state->idle_jobs.empty()) {
      return ResourceExhausted(
          "the definitions and lists of files of all jobs with readers would "
          "have {} bytes, the dispatcher's limit is {}; try again later, or "
          "raise job_bytes_max",
          context_.state->job_bytes + bytes, most);
    }
    Forget(JobName(context_.state->idle_jobs.begin()->second));
  }
  return absl::OkStatus();
}

void RunLifecycle::Start(const ClientHello& hello, RunNumber run) {
  const JobName& name = hello.job;
  const JobState& job = *context_.state->FindJob(name);
  DropRun(job);
  context_.ranks.NoteRunsEnd(job, context_.readers);
  context_.readers.DropAll(job);
  settler_.Forget(name);
  context_.state.Commit(RunStarted{name, run, run.value() - 1});
  if (IsToSequence(hello, job)) context_.state.Commit(RunSequenced{name});
  context_.log.JobBegan(job);
}

// True if the run that this reader starts is sequenced.
bool RunLifecycle::IsToSequence(const ClientHello& hello,
                                const JobState& job) const {
  const bool asks =
      hello.sequencing == Sequencing::kAlways ||
      (hello.sequencing == Sequencing::kIfWorth && !hello.share.whole());
  // A worker of an earlier version would refuse the graph.
  const auto& workers = context_.leases.workers();
  const bool all =
      std::all_of(workers.begin(), workers.end(),
                  [](const auto& worker) { return worker.second.sequences; });
  return asks && (all || hello.sequencing == Sequencing::kAlways) &&
         job.order == Order::kDeterministic &&
         context_.planner.sequenced_graph &&
         !context_.planner.sequenced_graph(job.graph).empty();
}

void RunLifecycle::PlanIfDue(absl::Time now, const JobName& name) {
  const JobState& job = *context_.state->FindJob(name);
  if (job.phase != RunPhase::kPlanning) return;
  if (job.resolved) return Plan(now, name);
  manifests_.Await(job);
  AssignManifests(now);
}

void RunLifecycle::Plan(absl::Time now, const JobName& name) {
  const JobState& job = *context_.state->FindJob(name);
  const absl::StatusOr<JobShape> shape = context_.planner.shape(
      job.sequenced ? context_.planner.sequenced_graph(job.graph) : job.graph,
      job.manifest, job.seed, job.iteration);
  if (!shape.ok()) return Fail(name, shape.status());
  uint64_t passes = 0;
  if (shape->in_passes) {
    passes = std::max(job.passes, job.settled ? 1 : settler_.PassesNow());
  }
  context_.state.Commit(
      RunPlanned{name, shape->source_size,
                 shape->positions * std::max<uint64_t>(1, passes),
                 shape->first_split, MakePlanId(job, *shape), passes});
  binder_.Begin(job);
  context_.plans.SetSourceRound(job.plan, shape->source_round);
  context_.outbox.AnswerSessions(job);
  FinishIfComplete(now, name);
}

void RunLifecycle::TakeManifest(absl::Time now, const ManifestResult& result) {
  // Empty if another worker was faster.
  const std::set<JobName> jobs = manifests_.JobsOf(result.graph_fingerprint);
  for (const JobName& name : jobs) {
    absl::Status status = result.status;
    if (status.ok()) status = MakeRoom(result.manifest.size());
    // MakeRoom forgets jobs without readers, which may be jobs of this list.
    if (context_.state->FindJob(name) == nullptr) continue;
    if (!status.ok()) {
      Fail(name, status);
      continue;
    }
    context_.state.Commit(ManifestKnown{name, result.manifest});
    manifests_.Stop(*context_.state->FindJob(name));
    Plan(now, name);
    if (binder_.Binds(name)) binder_.BindJob(now, name);
  }
}

void RunLifecycle::AssignManifests(absl::Time now) {
  manifests_.Assign();
  for (const auto& [needs, jobs] : manifests_.Unassigned()) {
    const absl::Status why = pythons_.WhyNoneRuns(now, needs);
    if (why.ok()) continue;
    for (const JobName& job : jobs) Fail(job, why);
  }
}

void RunLifecycle::TakeFleetChange(absl::Time now) {
  settler_.GrowRuns();
  AssignManifests(now);
  binder_.BindAll(now);
}

void RunLifecycle::Fail(const JobName& name, const absl::Status& status) {
  const JobState& job = *context_.state->FindJob(name);
  DropRun(job);
  context_.state.Commit(RunFailed{name, status});
  context_.log.JobEnded(job);
  context_.outbox.AnswerSessions(job);
}

void RunLifecycle::Finish(const JobName& name, bool complete) {
  const JobState& job = *context_.state->FindJob(name);
  DropRun(job);
  context_.state.Commit(RunFinished{name, complete});
  context_.log.JobEnded(job);
  context_.outbox.AnswerSessions(job);
}

void RunLifecycle::FinishIfComplete(absl::Time now, const JobName& name) {
  settler_.SettleIfDue(now, name);
  const JobState& job = *context_.state->FindJob(name);
  if (job.phase != RunPhase::kRunning || job.open_splits > 0) return;
  if (job.order == Order::kDeterministic && job.sessions.empty()) return;
  if (job.exhausted()) Finish(name, true);
}

void RunLifecycle::NoteEnding(const JobState& job, LeaveReason why) {
  const RunEnding ending = EndingOf(why);
  if (!job.over() && job.ending < ending) {
    context_.state.Commit(EndingNoted{job.name, ending});
  }
}

void RunLifecycle::Forget(const JobName& name) {
  const JobState& job = *context_.state->FindJob(name);
  DropRun(job);
  context_.readers.DropAll(job);
  context_.readers.ForgetTotals(name);
  context_.ranks.Forget(name);
  settler_.Forget(name);
  context_.state.Commit(JobForgotten{name});
}

// Drops all volatile data of a run that ends or begins again.
void RunLifecycle::DropRun(const JobState& job) {
  manifests_.Stop(job);
  settler_.EndRun(job.name);
  binder_.End(job);
}

}  // namespace feedmill
