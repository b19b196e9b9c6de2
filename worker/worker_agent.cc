#include "worker/worker_agent.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "core/base/check.h"
#include "core/base/status.h"

namespace feedmill {
namespace {

// Changes within this time are sent in one heartbeat.
constexpr absl::Duration kCoalesce = absl::Milliseconds(1);
// Maximum of compiled plans kept although no lease needs them.
constexpr size_t kIdlePlansMax = 16;
constexpr size_t kEarlyGrantsMax = 256;
// Time that a piece is kept for a rank that has not asked for it.
constexpr absl::Duration kKeptFor = absl::Seconds(10);

bool SameLease(const Lease& a, const Lease& b) {
  return a.session == b.session && a.plan == b.plan && a.begin == b.begin &&
         a.end == b.end && a.attempt == b.attempt && a.share == b.share;
}

}  // namespace

WorkerAgent::OutgoingStream::OutgoingStream() = default;

WorkerAgent::WorkerAgent(WorkerAgentSettings settings)
    : settings_(std::move(settings)),
      heartbeat_interval_(settings_.heartbeat_interval) {
  FM_CHECK(settings_.threads > 0);
  FM_CHECK(heartbeat_interval_ > absl::ZeroDuration());
}

uint64_t WorkerAgent::Allow(uint64_t total, const Grant& grant) const {
  return std::max(total, grant.total_bytes);
}

bool WorkerAgent::Reopened(Opening current, const Grant& grant) const {
  return grant.opening > current;
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
  Schedule(now, effects);
  return effects;
}

WorkerEffects WorkerAgent::OnTick(absl::Time now) {
  WorkerEffects effects;
  if (now >= NextDeadline()) Beat(now, effects);
  shelf_.DropOlder(now - kKeptFor);
  Schedule(now, effects);
  effects.drained = draining_ && Abandoned(now);
  return effects;
}

WorkerEffects WorkerAgent::OnDefined(absl::Time now, const PlanId& plan,
                                     absl::Status status, bool alike) {
  WorkerEffects effects;
  auto found = plans_.find(plan);
  if (found == plans_.end()) return effects;  // forgotten meanwhile
  PlanRecord& record = found->second;
  record.state = status.ok() ? PlanState::kReady : PlanState::kFailed;
  record.failure = std::move(status);
  record.alike = alike;
  BeatSoon(now);
  if (record.state == PlanState::kFailed) {
    for (auto& [split, held] : leases_) {
      if (held.lease.plan == plan) Fail(now, held, record.failure);
    }
  }
  Schedule(now, effects);
  return effects;
}

WorkerEffects WorkerAgent::OnResolved(absl::Time now, ManifestResult result) {
  auto found = manifests_.find(result.graph_fingerprint);
  if (found != manifests_.end()) {
    found->second = std::move(result);
    BeatSoon(now);
  }
  return {};
}

WorkerEffects WorkerAgent::TakeName(absl::Time now, WorkerId worker,
                                    Incarnation incarnation) {
  settings_.worker = std::move(worker);
  settings_.incarnation = incarnation;
  for (auto& [split, held] : leases_) Drop(held);
  leases_.clear();
  early_.clear();
  seen_ = {};
  next_beat_ = std::min(next_beat_, now);
  WorkerEffects effects;
  Schedule(now, effects);
  return effects;
}

WorkerEffects WorkerAgent::Drain(absl::Time now) {
  WorkerEffects effects;
  draining_ = true;
  BeatSoon(now);
  // If no dispatcher ever knew this worker, no client depends on it.
  effects.drained = last_answer_ == absl::InfinitePast();
  return effects;
}

// ---- the dispatcher's answers

void WorkerAgent::OnAnswer(absl::Time now, const WorkerAnswer& answer,
                           WorkerEffects& effects) {
  if (answer.incarnation != settings_.incarnation) return;
  last_answer_ = now;
  ++answer_count_;
  seen_ = answer.seen;
  if (answer.heartbeat_interval > absl::ZeroDuration()) {
    heartbeat_interval_ = answer.heartbeat_interval;
    next_beat_ = std::min(next_beat_, now + heartbeat_interval_);
  }
  if (answer.park_after > absl::ZeroDuration()) {
    park_after_ = answer.park_after;
  }
  TakeTraceOrder(now, answer);
  TakeDefinitions(answer, effects);
  TakeLeases(now, answer, effects);
  TakeManifestRequests(answer, effects);
  ForgetPlans(effects);
  effects.drained = draining_ && answer.drained;
}

void WorkerAgent::TakeDefinitions(const WorkerAnswer& answer,
                                  WorkerEffects& effects) {
  for (const PlanDefinition& definition : answer.definitions) {
    auto [plan, fresh] = plans_.try_emplace(definition.plan);
    if (!fresh) continue;  // being compiled, ready, or failed
    plan->second.used = answer_count_;
    effects.define.push_back(definition);
  }
}

void WorkerAgent::TakeLeases(absl::Time now, const WorkerAnswer& answer,
                             WorkerEffects& effects) {
  std::map<SplitId, const Lease*> wanted;
  for (const Lease& lease : answer.leases) wanted[lease.split] = &lease;
  for (auto it = leases_.begin(); it != leases_.end();) {
    auto found = wanted.find(it->first);
    if (found != wanted.end() && SameLease(it->second.lease, *found->second)) {
      it->second.lease.trace = found->second->trace;
      wanted.erase(found);
      ++it;
    } else {
      Drop(it->second);
      it = leases_.erase(it);
    }
  }
  for (const auto& [split, lease] : wanted) {
    Held& held = leases_[split];
    held.lease = *lease;
    held.leased = now;
    auto plan = plans_.find(lease->plan);
    if (plan == plans_.end()) {
      BeatSoon(now);  // reports that the plan is missing
    } else if (plan->second.state == PlanState::kFailed) {
      Fail(now, held, plan->second.failure);
    }
    auto early = early_.find(split);
    if (early == early_.end()) continue;
    EarlyGrant kept = std::move(early->second);
    early_.erase(early);
    OnGrant(kept.received, kept.from, kept.grant, effects);
  }
  for (const auto& [split, held] : leases_) {
    auto plan = plans_.find(held.lease.plan);
    if (plan != plans_.end()) plan->second.used = answer_count_;
  }
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
  std::vector<std::pair<uint64_t, PlanId>> idle;
  for (const auto& [plan, record] : plans_) {
    if (record.used == answer_count_) continue;
    if (record.state == PlanState::kFailed) {
      idle.emplace_back(0, plan);  // a new attempt compiles it again
    } else if (record.state == PlanState::kReady) {
      idle.emplace_back(record.used, plan);
    }
  }
  std::sort(idle.begin(), idle.end());
  size_t kept = idle.size();
  for (const auto& [used, plan] : idle) {
    if (used > 0 && kept <= kIdlePlansMax) break;
    --kept;
    plans_.erase(plan);
    shelf_.Forget(plan);
    effects.forget.push_back(plan);
  }
}

void WorkerAgent::Drop(Held& held) {
  if (!held.stream) return;
  DropFrom(*held.stream, Cursor{});
  held.stream.reset();
}

void WorkerAgent::Fail(absl::Time now, Held& held, absl::Status failure) {
  Drop(held);
  held.failure = std::move(failure);
  BeatSoon(now);
}

// ---- grants

void WorkerAgent::OnGrant(absl::Time now, const PeerId& from,
                          const Grant& grant, WorkerEffects& effects) {
  if (grant.worker_incarnation != settings_.incarnation) return;
  auto found = leases_.find(grant.split);
  if (found == leases_.end()) return KeepEarly(now, from, grant);
  Held& held = found->second;
  if (held.lease.attempt < grant.attempt) return KeepEarly(now, from, grant);
  if (held.lease.session != grant.session ||
      held.lease.attempt != grant.attempt || !held.failure.ok() ||
      grant.start < held.lease.begin || held.lease.end < grant.start) {
    return;
  }
  if (held.stream && grant.opening < held.stream->opening) return;
  if (!held.stream || held.stream->to != from ||
      Reopened(held.stream->opening, grant)) {
    Open(held, from, grant);
  }
  OutgoingStream& stream = *held.stream;
  // Without credit the rate shows the link; otherwise the reader waits for
  // computation.
  stream.link_rate = WaitsForCredit(stream) ? grant.arriving : 0;
  stream.total = Allow(stream.total, grant);
  stream.head = IsHead(grant);
  stream.compression = grant.compression;
  stream.checksums = grant.checksums;
  stream.weight = grant.weight;
  stream.profile = grant.profile;
  stream.granted = std::max(stream.granted, now);
  Send(now, held, effects);
}

// Keeps a grant that arrives before its lease. The client would repeat it only
// with its next heartbeat.
void WorkerAgent::KeepEarly(absl::Time now, const PeerId& from,
                            const Grant& grant) {
  if (early_.size() >= kEarlyGrantsMax) {
    std::erase_if(early_, [&](const auto& entry) {
      return now - entry.second.received > park_after_;
    });
  }
  auto found = early_.find(grant.split);
  if (found == early_.end()) {
    if (early_.size() >= kEarlyGrantsMax) return;
    early_.emplace(grant.split, EarlyGrant{from, grant, now});
  } else if (found->second.grant.opening <= grant.opening) {
    found->second = EarlyGrant{from, grant, now};
  }
}

// Sends from grant.start from now on; computed pieces at or after it are kept.
void WorkerAgent::Open(Held& held, const PeerId& from, const Grant& grant) {
  if (!held.stream) {
    held.stream.emplace();
    held.stream->next = held.stream->frontier = grant.start;
    held.stream->stop = held.lease.end;
  }
  OutgoingStream& stream = *held.stream;
  MoveTo(stream, grant.start);
  stream.to = from;
  stream.opening = grant.opening;
  stream.sent = stream.total = 0;
  // A data error that was sent may be lost: it is found again.
  if (stream.segments.empty()) stream.stop = held.lease.end;
}

void WorkerAgent::MoveTo(OutgoingStream& stream, Cursor start) {
  if (start < stream.next) {  // sent and lost
    if (stream.segments.empty()) {
      stream.frontier = start;
    } else if (const Cursor first = stream.segments.begin()->first;
               start < first) {
      stream.segments.emplace(start, Segment{.end = first});
    }
  }
  stream.next = start;
  auto it = stream.segments.begin();
  while (it != stream.segments.end() && it->first < start) {
    Segment& segment = it->second;
    const bool past = segment.end <= start;
    if (!past && segment.task != TaskId()) break;  // cut when the task ends
    Segment whole = std::move(segment);
    it = stream.segments.erase(it);
    if (past) continue;
    const auto rest =
        stream.segments.emplace(start, Segment{.end = whole.end}).first;
    if (whole.made != nullptr) Store(stream, rest, std::move(whole.made));
    break;
  }
  if (stream.segments.empty()) stream.frontier = start;
}

// Only a head may overdraw, by one piece. Pieces without elements cost nothing
// and always pass (rules 13, 14).
bool WorkerAgent::WaitsForCredit(const OutgoingStream& stream) {
  if (stream.segments.empty()) return false;
  const Segment& first = stream.segments.begin()->second;
  return first.made != nullptr && first.bytes() > 0 &&
         stream.sent + first.bytes() > stream.total &&
         !(stream.head && stream.sent < stream.total);
}

// Sends ready pieces within the credit, in order.
void WorkerAgent::Send(absl::Time now, Held& held, WorkerEffects& effects) {
  OutgoingStream& stream = *held.stream;
  while (!stream.segments.empty()) {
    Segment& first = stream.segments.begin()->second;
    if (first.made == nullptr) break;
    if (WaitsForCredit(stream)) break;
    stream.sent += first.bytes();
    NoteSent(held.lease, first.made->piece.chunk.rows, first.bytes());
    stream.next = first.end;
    const BufferedPiecePtr made = std::move(first.made);
    stream.segments.erase(stream.segments.begin());
    if (held.lease.trace != 0) TraceSent(now, held.lease, *made);
    if (const auto shelf = ShelfOf(held)) {
      shelf_.Took(*shelf, made->piece.begin);
    }
    const bool last = made.use_count() == 1;  // no other rank needs it
    effects.sends.push_back(
        {stream.to, Frame{.session = held.lease.session,
                          .split = held.lease.split,
                          .worker = settings_.worker,
                          .worker_incarnation = settings_.incarnation,
                          .attempt = held.lease.attempt,
                          .opening = stream.opening,
                          .piece = last ? std::move(made->piece) : made->piece,
                          .packed = stream.compression == LinkCompression::kNone
                                        ? nullptr
                                        : made->packed,
                          .checksums = stream.checksums,
                          .costs = stream.profile ? made->costs : nullptr}});
  }
}

// ---- heartbeats

void WorkerAgent::BeatSoon(absl::Time now) { BeatWithin(now, kCoalesce); }

void WorkerAgent::BeatWithin(absl::Time now, absl::Duration delay) {
  next_beat_ = std::min(next_beat_, now + delay);
}

// True if no dispatcher has answered for park_after_ and no reader heard of
// since then waits for data.
bool WorkerAgent::Abandoned(absl::Time now) const {
  if (now - last_answer_ <= park_after_) return false;
  return std::none_of(leases_.begin(), leases_.end(), [&](const auto& entry) {
    const Held& held = entry.second;
    return held.stream && now - held.stream->granted <= park_after_ &&
           held.stream->next < held.stream->stop;
  });
}

void WorkerAgent::Beat(absl::Time now, WorkerEffects& effects) {
  next_beat_ = now + heartbeat_interval_;
  WorkerBeat beat;
  beat.worker = settings_.worker;
  beat.incarnation = settings_.incarnation;
  beat.slots = settings_.slots;
  beat.draining = draining_;
  beat.seen = seen_;
  for (const auto& [split, held] : leases_) {
    beat.leases.push_back({split, held.lease.attempt});
    if (held.failure.ok()) continue;
    beat.failures.push_back({split, held.lease.attempt, held.failure});
  }
  for (const auto& [plan, record] : plans_) {
    if (record.state != PlanState::kFailed) beat.plans.push_back(plan);
  }
  for (auto& [plan, cost] : costs_) beat.costs.push_back(std::move(cost));
  costs_.clear();
  beat.load = TakeLoad(now);
  for (auto& [trace, ring] : traces_) beat.spans.push_back(ring.Take(now));
  for (const auto& [fingerprint, result] : manifests_) {
    if (result) beat.manifests.push_back(*result);
  }
  effects.sends.push_back({kDispatcherPeer, std::move(beat)});
}

}  // namespace feedmill
