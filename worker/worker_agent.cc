#include "worker/worker_agent.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/check.h"

namespace feedmill {
namespace {

// Time for which a plan is reported after its last lease, so that its last
// figures are scraped.
constexpr absl::Duration kReportedFor = absl::Minutes(2);
// Time that a piece is kept for a rank that has not asked for it.
constexpr absl::Duration kKeptFor = absl::Seconds(10);

bool SameLease(const Lease& a, const Lease& b) {
  return a.session == b.session && a.plan == b.plan && a.begin == b.begin &&
         a.end == b.end && a.attempt == b.attempt && a.share == b.share;
}

}  // namespace

WorkerAgent::WorkerAgent(WorkerAgentSettings settings,
                         std::unique_ptr<const StreamRules> rules)
    : context_(std::move(settings), std::move(rules)) {
  FM_CHECK(context_.settings.threads > 0);
  FM_CHECK(context_.settings.heartbeat_interval > absl::ZeroDuration());
}

// ---- entry points

WorkerEffects WorkerAgent::Handle(absl::Time now, const PeerId& from,
                                  const Message& message) {
  // Messages for other roles are ignored; they are no error.
  if (const auto* answer = std::get_if<WorkerAnswer>(&message)) {
    if (from == kDispatcherPeer) OnAnswer(now, *answer);
  } else if (const auto* grant = std::get_if<Grant>(&message)) {
    OnGrant(now, from, *grant);
  }
  schedule_.StopUnneeded();
  schedule_.Schedule(now);
  return TakeEffects();
}

WorkerEffects WorkerAgent::OnTick(absl::Time now) {
  if (now >= NextDeadline()) Beat(now);
  context_.shared.DropOlder(now - kKeptFor);
  schedule_.Schedule(now);
  context_.effects.drained = draining_ && Abandoned(now);
  return TakeEffects();
}

WorkerEffects WorkerAgent::OnComputed(absl::Time now, TaskId id,
                                      absl::StatusOr<Piece> piece,
                                      const TaskCost& cost,
                                      std::shared_ptr<const PackedParts> packed,
                                      StepCosts costs,
                                      std::optional<TaskTimes> times) {
  const ComputeTask task =
      schedule_.EndTask(now, id, piece, cost, costs, times);
  absl::StatusOr<BufferedPiecePtr> made = delivery_.BufferPiece(
      times.has_value() ? times->end : now, task, std::move(piece),
      std::move(packed), std::move(costs));
  delivery_.Deliver(now, id, task, std::move(made));
  schedule_.Schedule(now);
  // With nothing to compute, it wants other leases.
  if (schedule_.tasks() == 0 && CompleteLeases() > complete_sent_) {
    context_.clock.BeatSoon(now);
  }
  return TakeEffects();
}

WorkerEffects WorkerAgent::OnDefined(absl::Time now, const PlanId& plan,
                                     absl::Status status, PlanTraits traits) {
  CompiledPlan* const known = context_.plans.Find(plan);
  if (known == nullptr) return TakeEffects();  // forgotten meanwhile
  known->state =
      status.ok() ? CompiledPlan::State::kReady : CompiledPlan::State::kFailed;
  known->failure = std::move(status);
  context_.plans.SetTraits(*known, std::move(traits));
  context_.clock.BeatSoon(now);
  if (known->state == CompiledPlan::State::kFailed) {
    for (auto& [split, held] : context_.leases) {
      if (held.lease.plan == plan) held.Fail(known->failure);
    }
  }
  schedule_.Schedule(now);
  return TakeEffects();
}

WorkerEffects WorkerAgent::OnResolved(absl::Time now, ManifestResult result) {
  const auto found = manifests_.find(result.graph_fingerprint);
  if (found == manifests_.end()) return {};
  if (found->second.stopped) {  // begun again if it is asked for again
    manifests_.erase(found);
  } else {
    found->second.result = std::move(result);
  }
  context_.clock.BeatSoon(now);
  return {};
}

WorkerEffects WorkerAgent::OnSent(absl::Time now) {
  context_.unsent.ClearAwaited();
  for (auto& [split, held] : context_.leases) {
    if (held.stream) delivery_.Send(now, held);
  }
  schedule_.Schedule(now);
  return TakeEffects();
}

WorkerEffects WorkerAgent::TakeName(absl::Time now, WorkerId worker,
                                    Incarnation incarnation) {
  context_.settings.worker = std::move(worker);
  context_.settings.incarnation = incarnation;
  context_.leases.clear();
  early_.Clear();
  seen_ = {};
  python_known_ = false;
  context_.clock.BeatWithin(now, absl::ZeroDuration());
  schedule_.StopUnneeded();
  schedule_.Schedule(now);
  return TakeEffects();
}

WorkerEffects WorkerAgent::Drain(absl::Time now) {
  draining_ = true;
  context_.clock.BeatSoon(now);
  // If no dispatcher ever knew this worker, no client depends on it.
  context_.effects.drained = last_answer_ == absl::InfinitePast();
  return TakeEffects();
}

// ---- the dispatcher's answers

void WorkerAgent::OnAnswer(absl::Time now, const WorkerAnswer& answer) {
  if (answer.incarnation != context_.settings.incarnation) return;
  last_answer_ = now;
  context_.plans.BeginAnswer(now);
  seen_ = answer.seen;
  workers_ = answer.workers;
  context_.clock.TakeAnswer(now, answer);
  // A dispatcher that was restarted asks again.
  if (std::exchange(python_known_, answer.python_known) && !python_known_) {
    context_.clock.BeatSoon(now);
  }
  context_.spans.TakeOrder(now, answer);
  TakeDefinitions(answer);
  TakeLeases(now, answer);
  TakeManifestRequests(answer);
  ForgetPlans();
  context_.effects.drained = draining_ && answer.drained;
}

void WorkerAgent::TakeDefinitions(const WorkerAnswer& answer) {
  for (const PlanDefinition& definition : answer.definitions) {
    // Known: being compiled, ready, or failed.
    if (!context_.plans.Define(definition.plan)) continue;
    context_.load.Begin(definition.plan);
    context_.effects.define.push_back(definition);
  }
}

void WorkerAgent::TakeLeases(absl::Time now, const WorkerAnswer& answer) {
  std::map<SplitId, const Lease*> wanted;
  for (const Lease& lease : answer.leases) wanted[lease.split] = &lease;
  for (auto it = context_.leases.begin(); it != context_.leases.end();) {
    const auto found = wanted.find(it->first);
    if (found != wanted.end() && SameLease(it->second.lease, *found->second)) {
      it->second.lease.trace = found->second->trace;
      it->second.lease.depth = found->second->depth;
      wanted.erase(found);
      ++it;
    } else {
      it = context_.leases.erase(it);
    }
  }
  for (const auto& [split, lease] : wanted) {
    LeasedSplit& held = context_.leases[split];
    held.lease = *lease;
    held.leased = now;
    const CompiledPlan* const plan = context_.plans.Find(lease->plan);
    if (plan == nullptr) {
      context_.clock.BeatSoon(now);  // reports that the plan is missing
    } else if (plan->state == CompiledPlan::State::kFailed) {
      held.Fail(plan->failure);
      context_.clock.BeatSoon(now);
    }
    if (const auto early = early_.Take(split)) {
      OnGrant(early->received, early->from, early->grant);
    }
  }
  for (const auto& [split, held] : context_.leases)
    context_.plans.NoteUse(held.lease.plan);
}

void WorkerAgent::TakeManifestRequests(const WorkerAnswer& answer) {
  std::map<std::string, const ManifestRequest*> asked;
  for (const ManifestRequest& request : answer.manifests) {
    asked[request.graph_fingerprint] = &request;
  }
  std::erase_if(manifests_, [&](const auto& entry) {
    return entry.second.result.has_value() && !asked.contains(entry.first);
  });
  for (auto& [fingerprint, manifest] : manifests_) {
    if (asked.contains(fingerprint) || manifest.stopped) continue;
    manifest.stopped = true;
    context_.effects.stop_resolving.push_back(fingerprint);
  }
  for (const auto& [fingerprint, request] : asked) {
    if (manifests_.try_emplace(fingerprint).second) {
      context_.effects.resolve.push_back(*request);
    }
  }
}

void WorkerAgent::ForgetPlans() {
  context_.effects.rest = context_.plans.TakeResting();
  for (const PlanId& plan : context_.plans.ForgetIdle()) {
    context_.load.Forget(plan);
    context_.shared.Forget(plan);
    context_.effects.forget.push_back(plan);
  }
}

// ---- grants

void WorkerAgent::OnGrant(absl::Time now, const PeerId& from,
                          const Grant& grant) {
  if (grant.worker_incarnation != context_.settings.incarnation) return;
  const auto found = context_.leases.find(grant.split);
  if (found == context_.leases.end() ||
      found->second.lease.attempt < grant.attempt) {
    return early_.Keep(now, from, grant, context_.clock.park_after());
  }
  LeasedSplit& held = found->second;
  if (held.lease.session != grant.session ||
      held.lease.attempt != grant.attempt || !held.failure.ok() ||
      grant.start < held.lease.begin || held.lease.end < grant.start) {
    return;
  }
  if (held.stream && grant.opening < held.stream->opening()) return;
  const bool opens = !held.stream || held.stream->to() != from ||
                     context_.rules->Reopened(held.stream->opening(), grant);
  if (!held.stream) held.stream.emplace(grant.start, held.lease.end);
  OutgoingStream& stream = *held.stream;
  if (opens) {
    stream.Open(from, grant.opening, grant.start, held.lease.end);
    stream.terms.state = nullptr;
  }
  // Without credit the rate shows the link; otherwise the reader waits for
  // computation.
  stream.terms.link_rate = stream.WaitsForCredit() ? grant.arriving : 0;
  stream.SetTotal(context_.rules->Allow(stream.total(), grant));
  stream.terms.head = context_.rules->IsHead(grant);
  stream.terms.compression = grant.compression;
  stream.terms.checksums = grant.checksums;
  stream.terms.weight = grant.weight;
  stream.terms.profile = grant.profile;
  if (grant.state != nullptr) stream.terms.state = grant.state;
  stream.terms.granted = std::max(stream.terms.granted, now);
  delivery_.Send(now, held);
}

// ---- heartbeats

// True if no dispatcher has answered for park_after and no reader heard of
// since then waits for data.
bool WorkerAgent::Abandoned(absl::Time now) const {
  if (now - last_answer_ <= context_.clock.park_after()) return false;
  return std::none_of(context_.leases.begin(), context_.leases.end(),
                      [&](const auto& entry) {
                        const LeasedSplit& held = entry.second;
                        return held.Granted(now, context_.clock.park_after()) &&
                               !held.stream->AllSent();
                      });
}

WorkerLoad WorkerAgent::Load(absl::Time now) const {
  WorkerLoad load;
  load.threads = context_.settings.threads;
  load.tasks = static_cast<uint32_t>(schedule_.tasks());
  load.memory_bytes = context_.used_bytes;
  load.memory_max = context_.settings.memory_bytes;
  for (const auto& [id, plan] : context_.plans.all()) {
    PlanLoad each = schedule_.LoadOf(now, id, plan);
    if (each.streams == 0 && now - plan.needed > kReportedFor) continue;
    load.plans.push_back(std::move(each));
  }
  context_.load.AddTotals(load);
  return load;
}

// Returns the number of leases whose tasks run beside the threads. The worker
// can hold that many more.
uint32_t WorkerAgent::LeasesBeside() const {
  return static_cast<uint32_t>(std::count_if(
      context_.leases.begin(), context_.leases.end(), [&](const auto& entry) {
        const CompiledPlan* const plan =
            context_.plans.Find(entry.second.lease.plan);
        return plan != nullptr && plan->traits.beside;
      }));
}

// Returns the number of leases of streamed inputs that are computed to their
// end. Readers take from unlike inputs at unlike rates: leases of one that is
// ahead would leave no slot to the others.
uint32_t WorkerAgent::CompleteLeases() const {
  return static_cast<uint32_t>(std::count_if(
      context_.leases.begin(), context_.leases.end(), [&](const auto& entry) {
        const LeasedSplit& held = entry.second;
        const CompiledPlan* const plan = context_.plans.Find(held.lease.plan);
        return plan != nullptr && !plan->traits.family.empty() &&
               !plan->traits.beside && held.stream && held.stream->Complete();
      }));
}

void WorkerAgent::Beat(absl::Time now) {
  context_.clock.NoteBeat(now);
  WorkerBeat beat;
  beat.worker = context_.settings.worker;
  beat.incarnation = context_.settings.incarnation;
  beat.slots = context_.settings.slots + LeasesBeside();
  beat.complete = complete_sent_ = CompleteLeases();
  beat.draining = draining_;
  beat.seen = seen_;
  beat.allows_python = context_.settings.python.has_value();
  if (!python_known_) beat.python = context_.settings.python;
  beat.release = context_.settings.release;
  beat.sequences = true;
  for (const auto& [split, held] : context_.leases) {
    beat.leases.push_back({split, held.lease.attempt});
    if (held.failure.ok()) continue;
    beat.failures.push_back({split, held.lease.attempt, held.failure});
  }
  for (const auto& [plan, record] : context_.plans.all()) {
    if (record.state != CompiledPlan::State::kFailed) {
      beat.plans.push_back(plan);
    }
  }
  beat.costs = schedule_.TakeCosts();
  if (context_.load.TakeDue(now)) beat.load = context_.load.TakeNews(Load(now));
  beat.spans = context_.spans.Take(now);
  for (const auto& [fingerprint, manifest] : manifests_) {
    if (manifest.result) beat.manifests.push_back(*manifest.result);
  }
  context_.effects.sends.push_back({kDispatcherPeer, std::move(beat)});
}

}  // namespace feedmill
