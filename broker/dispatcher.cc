#include "broker/dispatcher.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/base/check.h"
#include "core/base/status.h"
#include "core/plan/plan_id.h"

namespace feedmill {
namespace {

// Maximum number of splits ahead of a consumer, for any number of slots.
constexpr uint64_t kWindowMax = 4'096;

// Workers compute the order that the dispatcher plans.
static_assert(kPlanVersion == 2 && kProtocolVersion == 4,
              "another plan version needs another protocol version");

PlanId MakePlanId(const JobState& job, const JobShape& shape) {
  return PlanId(PlanIdOf(shape.fingerprint, shape.manifest_hash, job.seed,
                         job.iteration));
}

}  // namespace

Dispatcher::Dispatcher(DispatcherSettings settings, Planner planner,
                       DispatcherState state, absl::Time now)
    : settings_(settings),
      planner_(std::move(planner)),
      state_(std::move(state)),
      synced_(state_.sequence),
      began_(now),
      lease_from_(state_.jobs.empty() ? now : now + settings.restart_grace),
      next_tick_(now),
      autoscaler_(settings.scale) {
  for (const auto& [name, job] : state_.jobs) {
    if (job.phase == RunPhase::kPlanning && !job.resolved) AwaitManifest(job);
    if (job.phase == RunPhase::kRunning) BeginWork(job);
    NoteAllRanks(now, job);
    AwaitRanks(job, now);
    for (const auto& [consumer, session] : job.sessions) {
      listeners_[{name, consumer}].heard = now;
      uint32_t depth = 0;
      for (const SplitId& id : session.waiting) {
        if (!state_.FindSplit(id)->error.ok()) continue;
        table_.Add(id, depth++, now, Remember(job, id, runs_.at(name)));
      }
    }
  }
}

bool Dispatcher::IsCurrent(Incarnation known, Incarnation said) const {
  return known == said;
}

bool Dispatcher::IsClosed(const SessionKey& key,
                          Incarnation incarnation) const {
  const auto it = state_.closed.find(key);
  if (it == state_.closed.end()) return false;
  // A sharer's name is never opened again; the one consumer of a job keeps
  // its name, and its later lives are new sessions.
  const JobState* job = state_.FindJob(key.job);
  const bool sharer = job != nullptr && job->order == Order::kAny;
  return sharer || incarnation <= it->second;
}

size_t Dispatcher::WindowUsed(const SessionState& session) const {
  return session.waiting.size();
}

SplitId Dispatcher::NameSplit(const SessionKey&, Cursor) const {
  return {state_.journal, state_.next_split};
}

void Dispatcher::Commit(DispatcherEvent event) {
  state_.Apply(event);
  if (!MayBeLate(event)) synced_ = state_.sequence;
  effects_.events.push_back(std::move(event));
}

void Dispatcher::Send(const PeerId& to, Message message) {
  effects_.sends.push_back({to, std::move(message)});
}

DispatcherEffects Dispatcher::Handle(absl::Time now,
                                     std::span<const Incoming> messages) {
  for (const Incoming& incoming : messages) {
    Take(now, incoming.from, incoming.message);
  }
  return Finish(now);
}

DispatcherEffects Dispatcher::Handle(absl::Time now, const PeerId& from,
                                     const Message& message) {
  Take(now, from, message);
  return Finish(now);
}

void Dispatcher::Take(absl::Time now, const PeerId& from,
                      const Message& message) {
  // Without known peers there were no ticks, so none can be late.
  if (NextDeadline() == absl::InfiniteFuture()) next_tick_ = now;
  NoteStall(now);
  struct Visitor {
    Dispatcher& self;
    absl::Time now;
    const PeerId& from;
    void operator()(const ClientHello& m) const { self.On(now, from, m); }
    void operator()(const ClientBeat& m) const { self.On(now, from, m); }
    void operator()(const ClientLeave& m) const { self.On(now, from, m); }
    void operator()(const WorkerBeat& m) const { self.On(now, from, m); }
    void operator()(const StatusRequest& m) const {
      if (m.trace.has_value()) return self.On(now, from, *m.trace);
      self.Send(from, StatusReply{self.StatusJson(now)});
    }
    void operator()(const DatasetRequest& m) const { self.On(from, m); }
    void operator()(const Refusal&) const {}  // an answer could start a loop
    void operator()(const ClientAnswer&) const { Refuse("a client answer"); }
    void operator()(const ClientReject&) const { Refuse("a client reject"); }
    void operator()(const WorkerAnswer&) const { Refuse("a worker answer"); }
    void operator()(const StatusReply&) const { Refuse("a status reply"); }
    void operator()(const DatasetReply&) const { Refuse("a dataset reply"); }
    void operator()(const Grant&) const { Refuse("a grant"); }
    void operator()(const ShareRequest&) const { Refuse("a share request"); }
    void operator()(const ShareOffer&) const { Refuse("a share offer"); }
    void operator()(const Frame&) const { Refuse("a frame"); }
    void operator()(const Relay&) const { Refuse("a relayed message"); }
    void Refuse(const char* what) const {
      self.Send(from, Refusal{InvalidArgument(
                          "this is a dispatcher, it cannot take {}; check "
                          "the address that it was sent to",
                          what)});
    }
  };
  CompareWithSeen(message);
  const auto* const status = std::get_if<StatusRequest>(&message);
  if (!behind_.ok() && (status == nullptr || status->trace.has_value())) {
    RefuseAsBehind(from, message);
  } else {
    std::visit(Visitor{*this, now, from}, message);
  }
}

// ---- a store that lost events that peers have seen

// Compares the peer's last seen event with the journal. If the journal lacks
// that event, it must not grow: its new events and splits would get numbers
// that peers know with another content.
void Dispatcher::CompareWithSeen(const Message& message) {
  const Seen* seen = nullptr;
  if (const auto* hello = std::get_if<ClientHello>(&message)) {
    seen = &hello->seen;
  } else if (const auto* client = std::get_if<ClientBeat>(&message)) {
    seen = &client->seen;
  } else if (const auto* worker = std::get_if<WorkerBeat>(&message)) {
    seen = &worker->seen;
  }
  if (seen == nullptr) return;
  const bool other = seen->journal != state_.journal;
  if (other && seen->journal != JournalId() && !follows_) {
    follows_ = true;
    for (const auto& [name, job] : state_.jobs) AwaitRanks(job, began_);
  }
  if (other || seen->sequence <= state_.sequence || !behind_.ok()) return;
  behind_ = DataLoss(
      "the dispatcher's journal ends at event {}, and event {} of it was seen "
      "before: it was lost in part, or an older copy was put back. Restart the "
      "dispatcher with its work-dir as it was last, or with an empty one; then "
      "readers start again",
      state_.sequence, seen->sequence);
}

void Dispatcher::RefuseAsBehind(const PeerId& from, const Message& message) {
  if (const auto* hello = std::get_if<ClientHello>(&message)) {
    Reject(from, hello->job, hello->session, RejectReason::kRefused, behind_);
  } else if (const auto* beat = std::get_if<ClientBeat>(&message)) {
    Reject(from, beat->job, beat->session, RejectReason::kRefused, behind_);
  } else if (!std::holds_alternative<Refusal>(message)) {
    Send(from, Refusal{behind_});
  }
}

DispatcherEffects Dispatcher::Finish(absl::Time now) {
  if (now >= lease_from_) {
    const uint64_t consumers = std::max<uint64_t>(1, listeners_.size());
    const uint64_t share = std::min(kWindowMax, table_.slots() / consumers);
    table_.Fill(now, static_cast<uint32_t>(share));
  }
  const std::vector<SplitId> changed = table_.TakeChangedSplits();
  if (!traces_.empty()) TraceChanges(now, changed);
  const SessionKey* last = nullptr;  // successive splits often have one owner
  for (const SplitId& id : changed) {
    const SplitState* split = state_.FindSplit(id);
    if (split == nullptr || (last != nullptr && *last == split->owner))
      continue;
    last = &*dirty_sessions_.insert(split->owner).first;
  }
  for (const WorkerId& id : table_.TakeChangedWorkers()) {
    dirty_workers_.try_emplace(id, nullptr);
  }
  effects_.sends.reserve(effects_.sends.size() + dirty_workers_.size());
  for (const auto& [id, known] : dirty_workers_) {
    KnownWorker* const worker = known ? known : table_.FindWorker(id);
    if (worker != nullptr) AnswerWorker(now, id, *worker);
  }
  for (const SessionKey& key : dirty_sessions_) {
    const auto it = listeners_.find(key);
    if (it != listeners_.end()) AnswerClient(now, key, it->second);
  }
  for (auto& [to, answer] : awaiting_) Send(to, std::move(answer));
  awaiting_.clear();
  dirty_workers_.clear();
  dirty_sessions_.clear();
  KeepEvents(now);
  return std::exchange(effects_, {});
}

// ---- time

absl::Duration Dispatcher::Interval() const {
  const auto peers =
      static_cast<int64_t>(listeners_.size() + table_.workers().size());
  return std::max(settings_.heartbeat_interval,
                  peers * absl::Microseconds(100));
}

absl::Duration Dispatcher::Timeout(absl::Duration least) const {
  return std::max(least, 4 * Interval());
}

// Sharers of a named job have a timeout of their own, because the other sharers
// wait for the splits that a silent one holds.
absl::Duration Dispatcher::ClientTimeout(const JobState& job) const {
  const bool shared = job.order == Order::kAny && !job.anonymous();
  return std::max(shared ? settings_.sharer_timeout : settings_.client_timeout,
                  8 * Interval());
}

absl::Time Dispatcher::NextDeadline() const {
  if (table_.workers().empty() && listeners_.empty()) {
    return absl::InfiniteFuture();
  }
  return next_tick_;
}

DispatcherEffects Dispatcher::OnTick(absl::Time now) {
  NoteStall(now);
  next_tick_ = now + std::min(absl::Milliseconds(100), Interval() / 2);
  if (!behind_.ok()) return {};
  if (now >= judge_from_) LoseSilentWorkers(now);
  for (const auto& [key, listener] : listeners_) {
    if (now - listener.heard <= Timeout(settings_.park_after)) {
      RetryHead(now, key);
    }
  }
  if (now >= judge_from_) ReleaseSilentSessions(now);
  if (now >= judge_from_) SettleWithoutSilent(now);
  LookAtScale(now);
  if (!traces_.empty()) EndTraces(now);
  return Finish(now);
}

void Dispatcher::RetryHead(absl::Time now, const SessionKey& key) {
  const SessionState& session = *state_.FindSession(key);
  if (session.waiting.empty()) return;
  const SplitId head = *session.waiting.begin();
  const LeaseTable::Work* work = table_.Find(head);
  if (work == nullptr) return;
  // A consumer with buffered elements is itself the slow part. For a sharer
  // this is unknown, because it reports only elements that it handed out.
  if (state_.FindJob(key.job)->order == Order::kDeterministic) {
    const SplitState& split = *state_.FindSplit(head);
    if (*session.splits.begin() != head || split.out < split.taken) {
      table_.NoteProgress(head, now);
      return;
    }
  }
  const absl::Duration stood = now - work->progress;
  // After `patience` a busy worker must take the head, too, because a broken
  // path shows in no other way. Patience doubles with each attempt: otherwise
  // work that takes longer would never end.
  const uint64_t shift = std::min<uint64_t>(work->attempts, 12);
  const absl::Duration patience =
      settings_.straggler_after * static_cast<int64_t>(uint64_t{1} << shift);
  if (stood <= settings_.straggler_after || work->leases.empty()) return;
  const WorkerId slow = work->leases.front().worker;
  if (!table_.Retry(head, now, stood > patience)) return;
  ++faults_.second_attempts;
  NoteRetry(key, slow, stood);
}

// ---- runs

void Dispatcher::AwaitManifest(const JobState& job) {
  Resolution& resolution = resolutions_[job.fingerprint];
  resolution.graph = job.graph;
  resolution.jobs.insert(job.name);
}

void Dispatcher::StopAwaiting(const JobState& job) {
  const auto it = resolutions_.find(job.fingerprint);
  if (it == resolutions_.end()) return;
  it->second.jobs.erase(job.name);
  if (!it->second.jobs.empty()) return;
  if (it->second.worker.has_value()) {
    KnownWorker* worker = table_.FindWorker(*it->second.worker);
    worker->resolving.erase(job.fingerprint);
    dirty_workers_.insert_or_assign(*it->second.worker, worker);
  }
  resolutions_.erase(it);
}

void Dispatcher::PlanRun(absl::Time now, const JobName& name) {
  const JobState& job = *state_.FindJob(name);
  const absl::StatusOr<JobShape> shape =
      planner_.shape(job.graph, job.manifest, job.seed, job.iteration);
  if (!shape.ok()) return FailRun(name, shape.status());
  uint64_t slots = 0;
  if (shape->slotted) {
    slots = std::max(job.slots, job.settled ? 1 : SlotsNow());
  }
  Commit(RunPlanned{name, shape->source_size,
                    shape->positions * std::max<uint64_t>(1, slots),
                    shape->first_split, MakePlanId(job, *shape), slots});
  BeginWork(job);
  plans_.at(job.plan).source_round = shape->source_round;
  for (const auto& [consumer, session] : job.sessions) {
    dirty_sessions_.insert({name, consumer});
  }
  FinishIfComplete(now, name);
}

// Returns the graph that the workers of a planned run read.
const std::string& Dispatcher::RunGraph(const JobState& job) {
  if (job.slots == 0 || !planner_.run_graph) return job.graph;
  std::optional<std::string>& graph = plans_[job.plan].graph;
  if (!graph.has_value()) graph = planner_.run_graph(job.graph);
  return *graph;
}

void Dispatcher::FailRun(const JobName& name, const absl::Status& status) {
  const JobState& job = *state_.FindJob(name);
  DropWork(job);
  Commit(RunFailed{name, status});
  NoteJobEnded(job, job.ending);
  for (const auto& [consumer, session] : job.sessions) {
    dirty_sessions_.insert({name, consumer});
  }
}

void Dispatcher::FinishRun(const JobName& name, bool complete) {
  const JobState& job = *state_.FindJob(name);
  DropWork(job);
  Commit(RunFinished{name, complete});
  NoteJobEnded(job, job.ending);
  for (const auto& [consumer, session] : job.sessions) {
    dirty_sessions_.insert({name, consumer});
  }
}

void Dispatcher::FinishIfComplete(absl::Time now, const JobName& name) {
  SettleIfDue(now, name);
  const JobState& job = *state_.FindJob(name);
  if (job.phase != RunPhase::kRunning || job.open_splits > 0) return;
  if (job.order == Order::kDeterministic && job.sessions.empty()) return;
  if (job.dry()) FinishRun(name, true);
}

void Dispatcher::ForgetJob(const JobName& name) {
  const JobState& job = *state_.FindJob(name);
  DropWork(job);
  for (const auto& [consumer, session] : job.sessions) {
    listeners_.erase({name, consumer});
  }
  ForgetWords(name);
  totals_.erase(name);
  begun_before_.erase(name);
  Commit(JobForgotten{name});
}

// Creates the volatile data of a planned run.
void Dispatcher::BeginWork(const JobState& job) {
  runs_.insert_or_assign(
      job.name,
      RunWork{SplitSizer({settings_.split_time, settings_.split_bytes},
                         job.first_split)});
  PlanWork& plan = plans_[job.plan];
  if (plan.jobs.empty()) plan.cost = past_costs_.Of(job.fingerprint);
  plan.jobs.insert(job.name);
}

// Drops all volatile data of a run that ends or begins again.
void Dispatcher::DropWork(const JobState& job) {
  StopAwaiting(job);
  for (const auto& [consumer, session] : job.sessions) DropWork(session);
  runs_.erase(job.name);
  const auto it = plans_.find(job.plan);
  if (it == plans_.end()) return;
  it->second.jobs.erase(job.name);
  if (!it->second.jobs.empty()) return;
  past_costs_.Keep(job.fingerprint, it->second.cost);
  plans_.erase(it);
}

void Dispatcher::DropWork(const SessionState& session) {
  for (const SplitId& split : session.splits) table_.Remove(split);
}

// ---- binding

void Dispatcher::BindAll(absl::Time now) {
  for (const auto& [key, listener] : listeners_) Bind(now, key);
}

void Dispatcher::BindJob(absl::Time now, const JobName& name) {
  const JobState& job = *state_.FindJob(name);
  for (const auto& [consumer, session] : job.sessions) {
    Bind(now, {name, consumer});
  }
}

void Dispatcher::Bind(absl::Time now, const SessionKey& key) {
  const auto run = runs_.find(key.job);
  if (run == runs_.end() || table_.slots() == 0) return;
  const Listener& listener = listeners_.at(key);
  if (now - listener.heard > Timeout(settings_.park_after)) return;
  const JobState& job = *state_.FindJob(key.job);
  const uint64_t sharers =
      Together(job) ? 1 : std::max<size_t>(1, job.sessions.size());
  const uint64_t window = std::min(
      kWindowMax,
      std::max<uint64_t>(settings_.window_min, 2 * table_.slots() / sharers));
  const SessionState& session = *state_.FindSession(key);
  for (size_t used = WindowUsed(session); used < window;
       used = WindowUsed(session)) {
    if (!BindSome(now, key, run->second, window - used)) break;
  }
  TellIfDry(key.job);
}

// Binds up to `room` splits of one size. False if no position is left.
bool Dispatcher::BindSome(absl::Time now, const SessionKey& key, RunWork& work,
                          uint64_t room) {
  const JobState& job = *state_.FindJob(key.job);
  const SessionState& session = *state_.FindSession(key);
  RangePool::Range left{session.next, {job.positions, 0}};
  if (job.order == Order::kAny) left = job.Unbound();
  if (left.begin >= left.end) return false;
  SplitsBound bound{NameSplit(key, left.begin), key, left.begin, left.begin, 0};
  for (uint64_t count = 0; count < room && bound.end < left.end; ++count) {
    const uint64_t remaining = left.end.p - bound.end.p;
    SplitSizer sizer = work.sizer;
    const uint64_t size = SplitSize(job, bound.end, remaining, work, sizer);
    if (count == 0) bound.size = size;
    if (size != bound.size) break;
    work.sizer = sizer;
    bound.end = {bound.end.p + std::min(size, remaining), 0};
  }
  const uint64_t count = bound.count();
  Commit(bound);
  auto depth = static_cast<uint32_t>(session.waiting.size() - count);
  for (uint64_t k = 0; k < count; ++k) {
    table_.Add(bound.name(k), depth++, now, Remember(job, bound.name(k), work));
  }
  dirty_sessions_.insert(key);
  return true;
}

void Dispatcher::TellIfDry(const JobName& name) {
  const auto run = runs_.find(name);
  if (run == runs_.end()) return;
  const JobState& job = *state_.FindJob(name);
  const bool dry = job.dry();
  if (std::exchange(run->second.dry_told, dry) == dry) return;
  if (!dry) return;  // the answer with the next bound splits says so
  for (const auto& [consumer, session] : job.sessions) {
    dirty_sessions_.insert({name, consumer});
  }
}

// Updates the depth of each unserved split of the session, after its head
// moved.
void Dispatcher::Reindex(const SessionState& session) {
  uint32_t depth = 0;
  for (const SplitId& split : session.waiting) table_.SetDepth(split, depth++);
}

// ---- answers

void Dispatcher::AnswerClient(absl::Time now, const SessionKey& key,
                              Listener& listener) {
  const std::optional<absl::Time> beat_sent =
      std::exchange(listener.beat_sent, std::nullopt);
  const JobState* job = state_.FindJob(key.job);
  if (job == nullptr || listener.address.value().empty()) return;
  const auto it = job->sessions.find(key.consumer);
  if (it == job->sessions.end()) return;
  const SessionState& session = it->second;
  if (job->phase == RunPhase::kFailed) {
    Reject(listener.address, key.job, {key.consumer, session.incarnation},
           RejectReason::kRefused, job->error);
    return;
  }
  ClientAnswer answer;
  answer.job = key.job;
  answer.session = {key.consumer, session.incarnation};
  answer.beat_sent = beat_sent;
  if (job->phase != RunPhase::kPlanning) {
    answer.run = RunInfo{job->run,         job->iteration, job->seed,
                         job->source_size, job->positions, job->plan,
                         job->slots,       job->settled,   SourceRound(*job)};
  }
  for (const SplitId& id : session.splits) {
    const SplitState& split = *state_.FindSplit(id);
    BoundSplit bound{id, split.begin, split.end, {}, split.error};
    const LeaseTable::Work* work = table_.Find(id);
    if (work != nullptr) {
      bound.leases = work->leases;
      bound.skip = work->skip;
    }
    answer.splits.push_back(std::move(bound));
  }
  const auto run = runs_.find(key.job);
  if (run != runs_.end() && run->second.awaits) {
    Behind unmet = RanksUnmet(*job);
    answer.awaited = unmet.count;
    answer.awaited_ranks = std::move(unmet.ranks);
  }
  answer.dry = job->dry();
  answer.finished = job->phase == RunPhase::kFinished;
  answer.workers = static_cast<uint32_t>(table_.workers().size());
  answer.heartbeat_interval = Interval();
  answer.client_timeout = ClientTimeout(*job);
  answer.seen = seen();
  if (!traces_.empty()) answer.tracing = OrderToTrace(now, key.job);
  Send(listener.address, std::move(answer));
}

void Dispatcher::AnswerWorker(absl::Time now, const WorkerId& id,
                              KnownWorker& worker) {
  WorkerAnswer answer;
  answer.incarnation = worker.incarnation;
  std::set<PlanId> needed;
  for (const SplitId& split_id : worker.leases) {
    const SplitState& split = *state_.FindSplit(split_id);
    const JobState& job = *state_.FindJob(split.owner.job);
    const SessionState& session = job.sessions.at(split.owner.consumer);
    const LeaseTable::Work& work = *table_.Find(split_id);
    const auto& leases = work.leases;
    const auto lease =
        std::find_if(leases.begin(), leases.end(),
                     [&id](const LeaseRef& l) { return l.worker == id; });
    answer.leases.push_back({split_id,
                             {split.owner.consumer, session.incarnation},
                             job.plan,
                             split.begin,
                             work.suspect() ? work.stop : split.end,
                             lease->attempt,
                             session.share,
                             traces_.empty() ? 0 : TraceOf(now, job.name)});
    if (worker.plans.contains(job.plan) || !needed.insert(job.plan).second) {
      continue;
    }
    // A definition can be large: it is sent again only if it may be lost.
    const auto [said, first] = worker.defined.try_emplace(job.plan, now);
    if (!first && now - said->second < 2 * Interval()) continue;
    said->second = now;
    answer.definitions.push_back(
        {job.plan, RunGraph(job), job.manifest, job.seed, job.iteration});
  }
  std::erase_if(worker.defined,
                [&](const auto& said) { return !needed.contains(said.first); });
  for (const std::string& fingerprint : worker.resolving) {
    answer.manifests.push_back(
        {fingerprint, resolutions_.at(fingerprint).graph});
  }
  worker.interval = Interval();
  worker.unanswered = 0;
  answer.heartbeat_interval = worker.interval;
  answer.park_after = Timeout(settings_.park_after);
  answer.drained = worker.draining && worker.leases.empty();
  answer.seen = seen();
  if (!traces_.empty()) answer.tracing = OrderToTrace(now);
  Send(worker.address, std::move(answer));
}

}  // namespace feedmill
