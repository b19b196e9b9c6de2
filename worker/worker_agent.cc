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
    : settings_(std::move(settings)),
      rules_(std::move(rules)),
      clock_(settings_.heartbeat_interval) {
  FM_CHECK(settings_.threads > 0);
  FM_CHECK(settings_.heartbeat_interval > absl::ZeroDuration());
}

// ---- entry points

WorkerEffects WorkerAgent::Handle(absl::Time now, const PeerId& from,
                                  const Message& message) {
  WorkerEffects effects;
  // Messages for other roles are ignored; they are no error.
  if (const auto* answer = std::get_if<WorkerAnswer>(&message)) {
    if (from == kDispatcherPeer) OnAnswer(now, *answer, effects);
  } else if (const auto* grant = std::get_if<Grant>(&message)) {
    OnGrant(now, from, *grant, effects);
  }
  schedule_.Schedule(now, effects);
  return effects;
}

WorkerEffects WorkerAgent::OnTick(absl::Time now) {
  WorkerEffects effects;
  if (now >= NextDeadline()) Beat(now, effects);
  shared_.DropOlder(now - kKeptFor);
  schedule_.Schedule(now, effects);
  effects.drained = draining_ && Abandoned(now);
  return effects;
}

WorkerEffects WorkerAgent::OnComputed(absl::Time now, TaskId id,
                                      absl::StatusOr<Piece> piece,
                                      const TaskCost& cost,
                                      std::shared_ptr<const PackedParts> packed,
                                      StepCosts costs,
                                      std::optional<TaskTimes> times) {
  WorkerEffects effects;
  const ComputeTask task =
      schedule_.EndTask(now, id, piece, cost, costs, times);
  absl::StatusOr<BufferedPiecePtr> made = delivery_.BufferPiece(
      times.has_value() ? times->end : now, task, std::move(piece),
      std::move(packed), std::move(costs));
  delivery_.Deliver(now, id, task, std::move(made), effects);
  schedule_.Schedule(now, effects);
  return effects;
}

WorkerEffects WorkerAgent::OnDefined(absl::Time now, const PlanId& plan,
                                     absl::Status status, PlanTraits traits) {
  WorkerEffects effects;
  CompiledPlan* const known = plans_.Find(plan);
  if (known == nullptr) return effects;  // forgotten meanwhile
  known->state =
      status.ok() ? CompiledPlan::State::kReady : CompiledPlan::State::kFailed;
  known->failure = std::move(status);
  known->traits = traits;
  clock_.BeatSoon(now);
  if (known->state == CompiledPlan::State::kFailed) {
    for (auto& [split, held] : leases_) {
      if (held.lease.plan == plan) held.Fail(known->failure);
    }
  }
  schedule_.Schedule(now, effects);
  return effects;
}

WorkerEffects WorkerAgent::OnResolved(absl::Time now, ManifestResult result) {
  const auto found = manifests_.find(result.graph_fingerprint);
  if (found != manifests_.end()) {
    found->second = std::move(result);
    clock_.BeatSoon(now);
  }
  return {};
}

WorkerEffects WorkerAgent::OnSent(absl::Time now) {
  WorkerEffects effects;
  unsent_.ClearAwaited();
  for (auto& [split, held] : leases_) {
    if (held.stream) delivery_.Send(now, held, effects);
  }
  schedule_.Schedule(now, effects);
  return effects;
}

WorkerEffects WorkerAgent::TakeName(absl::Time now, WorkerId worker,
                                    Incarnation incarnation) {
  settings_.worker = std::move(worker);
  settings_.incarnation = incarnation;
  leases_.clear();
  early_.Clear();
  seen_ = {};
  python_known_ = false;
  clock_.BeatWithin(now, absl::ZeroDuration());
  WorkerEffects effects;
  schedule_.Schedule(now, effects);
  return effects;
}

WorkerEffects WorkerAgent::Drain(absl::Time now) {
  WorkerEffects effects;
  draining_ = true;
  clock_.BeatSoon(now);
  // If no dispatcher ever knew this worker, no client depends on it.
  effects.drained = last_answer_ == absl::InfinitePast();
  return effects;
}

// ---- the dispatcher's answers

void WorkerAgent::OnAnswer(absl::Time now, const WorkerAnswer& answer,
                           WorkerEffects& effects) {
  if (answer.incarnation != settings_.incarnation) return;
  last_answer_ = now;
  plans_.BeginAnswer(now);
  seen_ = answer.seen;
  clock_.TakeAnswer(now, answer);
  // A dispatcher that was restarted asks again.
  if (std::exchange(python_known_, answer.python_known) && !python_known_) {
    clock_.BeatSoon(now);
  }
  spans_.TakeOrder(now, answer);
  TakeDefinitions(answer, effects);
  TakeLeases(now, answer, effects);
  TakeManifestRequests(answer, effects);
  ForgetPlans(effects);
  effects.drained = draining_ && answer.drained;
}

void WorkerAgent::TakeDefinitions(const WorkerAnswer& answer,
                                  WorkerEffects& effects) {
  for (const PlanDefinition& definition : answer.definitions) {
    // Known: being compiled, ready, or failed.
    if (!plans_.Define(definition.plan)) continue;
    load_.Begin(definition.plan);
    effects.define.push_back(definition);
  }
}

void WorkerAgent::TakeLeases(absl::Time now, const WorkerAnswer& answer,
                             WorkerEffects& effects) {
  std::map<SplitId, const Lease*> wanted;
  for (const Lease& lease : answer.leases) wanted[lease.split] = &lease;
  for (auto it = leases_.begin(); it != leases_.end();) {
    const auto found = wanted.find(it->first);
    if (found != wanted.end() && SameLease(it->second.lease, *found->second)) {
      it->second.lease.trace = found->second->trace;
      wanted.erase(found);
      ++it;
    } else {
      it = leases_.erase(it);
    }
  }
  for (const auto& [split, lease] : wanted) {
    LeasedSplit& held = leases_[split];
    held.lease = *lease;
    held.leased = now;
    const CompiledPlan* const plan = plans_.Find(lease->plan);
    if (plan == nullptr) {
      clock_.BeatSoon(now);  // reports that the plan is missing
    } else if (plan->state == CompiledPlan::State::kFailed) {
      held.Fail(plan->failure);
      clock_.BeatSoon(now);
    }
    if (const auto early = early_.Take(split)) {
      OnGrant(early->received, early->from, early->grant, effects);
    }
  }
  for (const auto& [split, held] : leases_) plans_.NoteUse(held.lease.plan);
}

void WorkerAgent::TakeManifestRequests(const WorkerAnswer& answer,
                                       WorkerEffects& effects) {
  std::map<std::string, const ManifestRequest*> asked;
  for (const ManifestRequest& request : answer.manifests) {
    asked[request.graph_fingerprint] = &request;
  }
  std::erase_if(manifests_, [&](const auto& entry) {
    return entry.second.has_value() && !asked.contains(entry.first);
  });
  for (const auto& [fingerprint, request] : asked) {
    if (manifests_.try_emplace(fingerprint).second) {
      effects.resolve.push_back(*request);
    }
  }
}

void WorkerAgent::ForgetPlans(WorkerEffects& effects) {
  for (const PlanId& plan : plans_.ForgetIdle()) {
    load_.Forget(plan);
    shared_.Forget(plan);
    effects.forget.push_back(plan);
  }
}

// ---- grants

void WorkerAgent::OnGrant(absl::Time now, const PeerId& from,
                          const Grant& grant, WorkerEffects& effects) {
  if (grant.worker_incarnation != settings_.incarnation) return;
  const auto found = leases_.find(grant.split);
  if (found == leases_.end() || found->second.lease.attempt < grant.attempt) {
    return early_.Keep(now, from, grant, clock_.park_after());
  }
  LeasedSplit& held = found->second;
  if (held.lease.session != grant.session ||
      held.lease.attempt != grant.attempt || !held.failure.ok() ||
      grant.start < held.lease.begin || held.lease.end < grant.start) {
    return;
  }
  if (held.stream && grant.opening < held.stream->opening()) return;
  const bool opens = !held.stream || held.stream->to() != from ||
                     rules_->Reopened(held.stream->opening(), grant);
  if (!held.stream) held.stream.emplace(grant.start, held.lease.end);
  OutgoingStream& stream = *held.stream;
  if (opens) {
    stream.Open(from, grant.opening, grant.start, held.lease.end);
    stream.terms.state = nullptr;
  }
  // Without credit the rate shows the link; otherwise the reader waits for
  // computation.
  stream.terms.link_rate = stream.WaitsForCredit() ? grant.arriving : 0;
  stream.SetTotal(rules_->Allow(stream.total(), grant));
  stream.terms.head = rules_->IsHead(grant);
  stream.terms.compression = grant.compression;
  stream.terms.checksums = grant.checksums;
  stream.terms.weight = grant.weight;
  stream.terms.profile = grant.profile;
  if (grant.state != nullptr) stream.terms.state = grant.state;
  stream.terms.granted = std::max(stream.terms.granted, now);
  delivery_.Send(now, held, effects);
}

// ---- heartbeats

// True if no dispatcher has answered for park_after and no reader heard of
// since then waits for data.
bool WorkerAgent::Abandoned(absl::Time now) const {
  if (now - last_answer_ <= clock_.park_after()) return false;
  return std::none_of(leases_.begin(), leases_.end(), [&](const auto& entry) {
    const LeasedSplit& held = entry.second;
    return held.Granted(now, clock_.park_after()) && !held.stream->AllSent();
  });
}

WorkerLoad WorkerAgent::Load(absl::Time now) const {
  WorkerLoad load;
  load.threads = settings_.threads;
  load.tasks = static_cast<uint32_t>(schedule_.tasks());
  load.memory_bytes = used_bytes_;
  load.memory_max = settings_.memory_bytes;
  for (const auto& [id, plan] : plans_.all()) {
    PlanLoad each = schedule_.LoadOf(now, id, plan);
    if (each.streams == 0 && now - plan.needed > kReportedFor) continue;
    load.plans.push_back(std::move(each));
  }
  load_.AddTotals(load);
  return load;
}

void WorkerAgent::Beat(absl::Time now, WorkerEffects& effects) {
  clock_.NoteBeat(now);
  WorkerBeat beat;
  beat.worker = settings_.worker;
  beat.incarnation = settings_.incarnation;
  beat.slots = settings_.slots;
  beat.draining = draining_;
  beat.seen = seen_;
  beat.allows_python = settings_.python.has_value();
  if (!python_known_) beat.python = settings_.python;
  beat.release = settings_.release;
  for (const auto& [split, held] : leases_) {
    beat.leases.push_back({split, held.lease.attempt});
    if (held.failure.ok()) continue;
    beat.failures.push_back({split, held.lease.attempt, held.failure});
  }
  for (const auto& [plan, record] : plans_.all()) {
    if (record.state != CompiledPlan::State::kFailed) {
      beat.plans.push_back(plan);
    }
  }
  beat.costs = schedule_.TakeCosts();
  if (load_.TakeDue(now)) beat.load = load_.TakeNews(Load(now));
  beat.spans = spans_.Take(now);
  for (const auto& [fingerprint, result] : manifests_) {
    if (result) beat.manifests.push_back(*result);
  }
  effects.sends.push_back({kDispatcherPeer, std::move(beat)});
}

}  // namespace feedmill
