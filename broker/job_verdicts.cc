#include "broker/job_verdicts.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/dataset/python_versions.h"
#include "core/wire/input_job.h"

namespace feedmill {
namespace {

constexpr uint32_t kSourcePlace = 1;

// "rank 1 of 4", "ranks 1, 2 and 3 of 4", "ranks 0, 1, … and 40 more of 64".
std::string RanksText(const std::vector<uint64_t>& ranks, uint64_t all) {
  constexpr size_t kRanksNamed = 8;
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  const size_t named = std::min(ranks.size(), kRanksNamed);
  for (size_t k = 0; k < named; ++k) {
    const bool last = k + 1 == ranks.size();
    text += fmt::format("{}{}", k == 0 ? "" : last ? " and " : ", ", ranks[k]);
  }
  if (ranks.size() > named) {
    text += fmt::format(" and {} more", ranks.size() - named);
  }
  return text + fmt::format(" of {}", all);
}

// Returns the worker that a job waits for.
std::string WorkerText(const PythonNeedsPtr& needs) {
  return needs == nullptr ? "a worker" : "a worker with " + NeedsText(needs);
}

}  // namespace

std::string JobVerdicts::WaitsFor(const JobState& job) const {
  if (job.over()) return "";
  if (job.phase == RunPhase::kPlanning && !job.resolved) {
    const WorkerId* const asked = manifests_.WorkerOf(job.fingerprint);
    return asked != nullptr
               ? "the files to be listed by " + asked->value()
               : WorkerText(manifests_.PythonNeedsOf(job.fingerprint));
  }
  if (settler_.Awaits(job.name)) {
    const PendingRanks unmet = AbsentRanks::Unmet(job);
    return RanksText(unmet.ranks, job.ranks) + " to say how far they are";
  }
  if (job.order == Order::kDeterministic && job.ranks > 1) {
    const RanksLeft left = context_.ranks.ToEnd(job);
    if (!left.missing.empty()) return RanksText(left.missing, job.ranks);
    if (left.next_is_asked_for && !left.reading.empty()) {
      return RanksText(left.reading, job.ranks) + " to finish";
    }
  } else if (job.sessions.empty()) {
    return "a reader";
  }
  const PythonNeedsPtr needs = context_.plans.KnownPythonNeeds(job.plan);
  if (needs != nullptr && !context_.leases.HasTaker(needs))
    return WorkerText(needs);
  return context_.leases.slots() == 0 ? "a worker" : "";
}

VerdictInput::Reader JobVerdicts::InputOf(absl::Time now, const SessionKey& key,
                                          const SessionState& session) const {
  VerdictInput::Reader reader;
  reader.name = key.consumer.value();
  const auto recent = context_.readers.At(key).window.Recent(now);
  if (recent.has_value()) {
    reader.elapsed_s = absl::ToDoubleSeconds(recent->elapsed);
    reader.waited_s = absl::ToDoubleSeconds(recent->waited);
    reader.stage_s = absl::ToDoubleSeconds(recent->stage);
    reader.elements = recent->elements;
    reader.longest_wait_s =
        absl::ToDoubleSeconds(context_.readers.At(key).window.LongestWait());
    if (!recent->unreachable.empty()) {
      reader.unreachable = WorkerName(WorkerId(recent->unreachable.front()));
    }
  }
  if (session.waiting.empty()) return reader;
  const LeaseTable::Work* work = context_.leases.Find(*session.waiting.begin());
  if (work == nullptr || work->leases.empty()) return reader;
  reader.head_worker = WorkerName(work->leases.front().worker);
  reader.head_s = absl::ToDoubleSeconds(now - work->progress);
  return reader;
}

VerdictInput JobVerdicts::InputOf(absl::Time now, const JobState& job,
                                  const FleetUse& fleet) const {
  VerdictInput input;
  input.over = job.over();
  input.planned = job.phase != RunPhase::kPlanning;
  input.waits_for = WaitsFor(job);
  input.dispatcher_busy = shell_.busy;
  if (input.over || !input.planned) return input;
  input.positions = job.positions;
  for (const auto& [consumer, session] : job.sessions) {
    const SessionKey key{job.name, consumer};
    for (const SplitId& split : session.waiting) {
      const LeaseTable::Work* work = context_.leases.Find(split);
      if (work != nullptr && work->leases.empty()) {
        ++input.splits_without_lease;
      }
    }
    VerdictInput::Reader reader = InputOf(now, key, session);
    if (reader.elapsed_s > 0) input.readers.push_back(std::move(reader));
  }
  std::vector<PlanId> plans = {job.plan};
  AddSteps(job.plan, "", input);
  // Jobs by which workers read inputs of this one do its work.
  const auto& jobs = context_.state->jobs;
  const std::string prefix = InputJobPrefix(job.fingerprint);
  for (auto other = jobs.lower_bound(JobName(prefix));
       other != jobs.end() && other->first.value().starts_with(prefix);
       ++other) {
    if (other->second.over()) continue;
    plans.push_back(other->second.plan);
    AddSteps(other->second.plan, InputReadBy(other->first) + " ", input);
  }
  // A pass over inputs that workers share is no bound.
  if (plans.size() > 1) input.positions = 0;
  input.workers = fleet.WorkersFor(plans);
  return input;
}

// Adds the costs of the plan's steps.
void JobVerdicts::AddSteps(const PlanId& plan, const std::string& prefix,
                           VerdictInput& input) const {
  const StepUse* const steps = context_.plans.StepsOf(plan);
  if (steps == nullptr) return;
  for (const auto& [place, cost] : steps->steps()) {
    input.steps.push_back({prefix + context_.plans.PlaceName(plan, place),
                           place == kSourcePlace,
                           static_cast<double>(cost.wall_ns) * 1e-9,
                           static_cast<double>(cost.cpu_ns) * 1e-9});
  }
}

Verdict JobVerdicts::Judge(absl::Time now, const JobState& job,
                           const FleetUse& fleet) const {
  return feedmill::Judge(InputOf(now, job, fleet));
}

Verdict JobVerdicts::Reported(absl::Time now, const JobState& job,
                              const FleetUse& fleet) const {
  Verdict fresh = Judge(now, job, fleet);
  const auto steady = steady_.find(job.name);
  if (steady == steady_.end()) return fresh;
  return steady->second.Report(std::move(fresh));
}

// A judgement costs about 10 us: with many jobs it is made less often.
void JobVerdicts::Look(absl::Time now) {
  if (now < next_look_) return;
  const auto is_read = [](const JobState& job) {
    return !job.over() && !job.sessions.empty();
  };
  std::erase_if(steady_, [&](const auto& entry) {
    const JobState* const job = context_.state->FindJob(entry.first);
    return job == nullptr || !is_read(*job);
  });
  std::optional<FleetUse> fleet;
  int64_t judged = 0;
  for (const auto& [name, job] : context_.state->jobs) {
    if (!is_read(job)) continue;
    if (!fleet.has_value()) fleet = FleetUse::Of(context_.leases, now);
    steady_[name].Add(Judge(now, job, *fleet));
    ++judged;
  }
  next_look_ =
      now + std::max(SteadyVerdict::kInterval, judged * absl::Milliseconds(1));
}

}  // namespace feedmill
