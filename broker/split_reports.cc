#include "broker/split_reports.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "broker/input_jobs.h"
#include "core/base/status.h"

namespace feedmill {
namespace {

// A worker is faulty after this number of splits that failed on it and that
// other workers computed. Each split that it computes meanwhile counts one
// less.
constexpr uint32_t kFaultsMax = 3;

// Clamps a report to the split and to its known progress: a late report must
// not move the cursors back.
SplitReport Clamped(const SplitReport& report, const SplitState& split) {
  const Cursor taken = std::clamp(report.taken, split.taken, split.end);
  return {report.split, taken, std::clamp(report.out, split.out, taken)};
}

}  // namespace

absl::Status WithWorker(const absl::Status& status, const WorkerId& worker) {
  absl::Status out = Annotate(status, "worker " + worker.value());
  if (!absl::IsNotFound(status)) return out;
  return NotFound(
      "{}; workers read the files, so each machine of a worker needs them at "
      "this same absolute path (a shared folder, say)",
      ErrorText(out));
}

void SplitReports::TakeProgress(absl::Time now, const SessionKey& key,
                                const std::vector<SplitReport>& reports) {
  SplitsTaken taken;
  std::vector<SplitId> served;
  std::vector<SplitId> ended;
  uint64_t used = 0;
  for (const SplitReport& report : reports) {
    const SplitState* split = context_.state->FindSplit(report.split);
    if (split == nullptr || split->owner != key) continue;
    const SplitReport now_at = Clamped(report, *split);
    used += ElementsBetween(split->out, now_at.out);
    // The split is out, but still bound: a crash lost its end.
    if (now_at.out >= split->end) {
      ended.push_back(report.split);
    } else if (now_at.taken != split->taken || now_at.out != split->out) {
      if (now_at.taken >= split->end) served.push_back(report.split);
      taken.reports.push_back(now_at);
      context_.leases.NoteProgress(report.split, now);
    }
  }
  if (!taken.reports.empty()) context_.state.Commit(taken);
  for (const SplitReport& report : taken.reports) Advance(report.split);
  EndSplits(ended);
  for (const SplitId& split : served) {
    JudgeFailures(split);
    context_.leases.Remove(split);
  }
  // If the head moved, each unserved split has a new depth.
  NoteUse(context_, key, used, !served.empty() || !ended.empty(), now);
}

void SplitReports::EndSplits(std::vector<SplitId>& splits) {
  if (splits.empty()) return;
  std::sort(splits.begin(), splits.end());
  splits.erase(std::unique(splits.begin(), splits.end()), splits.end());
  SplitsEnded ended;
  for (const SplitId& split : splits) {
    JudgeFailures(split);
    context_.leases.Remove(split);
    if (ended.ranges.empty() ||
        ended.ranges.back().name(ended.ranges.back().count) != split) {
      ended.ranges.push_back({split, 0});
    }
    ++ended.ranges.back().count;
  }
  context_.state.Commit(std::move(ended));
}

// The split was computed: the workers that failed at it before are at fault,
// and not the data.
void SplitReports::JudgeFailures(const SplitId& id) {
  const LeaseTable::Work* work = context_.leases.Find(id);
  // If there are two attempts, it is unknown which one computed the split.
  if (work == nullptr || work->leases.size() != 1) return;
  const WorkerId& computed_by = work->leases.front().worker;
  KnownWorker* const able = context_.leases.FindWorker(computed_by);
  if (able != nullptr && able->faults > 0) --able->faults;
  for (const WorkerId& failed : work->failed) {
    KnownWorker* const worker = context_.leases.FindWorker(failed);
    if (worker == nullptr || failed == computed_by) continue;
    if (++worker->faults >= kFaultsMax) faulty_.insert(failed);
  }
}

void SplitReports::Advance(const SplitId& id) {
  const SplitState* split = context_.state->FindSplit(id);
  if (split != nullptr) context_.leases.Advance(id, split->taken, split->end);
}

void SplitReports::TakeFailure(const WorkerId& worker,
                               const LeaseFailure& failure) {
  if (!context_.leases.Fail(worker, failure.split, failure.attempt)) return;
  const bool last = context_.leases.Find(failure.split)->failures >=
                    context_.settings.attempts_max;
  context_.log.AttemptFailed(worker, failure,
                             context_.state->FindSplit(failure.split), last);
  KnownWorker& failed = *context_.leases.FindWorker(worker);
  failed.failure = ErrorText(failure.status);
  ++failed.leases_failed;
  if (!last) return;
  absl::Status status = failure.status;
  if (status.ok()) status = Internal("the worker gave no reason");
  if (absl::IsNotFound(status) || absl::IsFailedPrecondition(status)) {
    status = WithWorker(status, worker);
  }
  context_.leases.Remove(failure.split);
  context_.log.SplitFailed();
  context_.state.Commit(SplitFailed{failure.split, std::move(status)});
}

void SplitReports::DropWorker(const WorkerId& id, bool died) {
  const std::set<SplitId> had = context_.leases.FindWorker(id)->leases;
  std::vector<SplitId> blamed;
  for (const SplitId& held : had) {
    if (!died) continue;
    const SplitState& split = *context_.state->FindSplit(held);
    const uint32_t deaths =
        context_.leases.NoteDeath(held, id, split.taken, split.end);
    if (deaths >= context_.settings.deaths_alone_max) blamed.push_back(held);
  }
  context_.leases.DropWorker(id);
  for (const SplitId& split : had) Advance(split);
  for (const SplitId& split : blamed) Blame(split);
}

// Skips or fails the next position of this split, because workers died while
// they ran it and nothing else.
void SplitReports::Blame(const SplitId& id) {
  const SplitState& split = *context_.state->FindSplit(id);
  const JobState& job = *context_.state->FindJob(split.owner.job);
  PositionName name{fmt::format("position {}", split.taken.p)};
  if (context_.planner.name_position) {
    name = context_.planner.name_position(context_.plans.RunGraph(job),
                                          job.manifest, job.seed, job.iteration,
                                          split.taken.p);
  }
  std::string why = fmt::format(
      "{} kills the workers that read it: one after another died with it, at "
      "last while it ran nothing else; look at their logs, and take it out of "
      "the data",
      name.text);
  if (name.skips) {
    context_.log.PositionSkipped(split.owner.job, name.text, why);
    context_.leases.Skip(
        id, {split.taken, std::move(name.records), std::move(why)});
    context_.outbox.AnswerSession(split.owner);
    return;
  }
  context_.leases.Remove(id);
  context_.log.SplitFailed();
  context_.state.Commit(SplitFailed{id, DataLoss("{}", why)});
}

}  // namespace feedmill
