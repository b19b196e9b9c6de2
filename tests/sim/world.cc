#include "tests/sim/world.h"

#include <algorithm>
#include <ostream>
#include <utility>

#include "core/base/status.h"
#include "tests/sim/describe_message.h"

namespace feedmill::sim {
namespace {

constexpr uint64_t kPositionsAhead = 8;  // that workers announce

constexpr absl::Duration kClientTimeout = absl::Seconds(3);
constexpr absl::Duration kFaultsEnd = absl::Seconds(8);
constexpr absl::Duration kLiveness = absl::Seconds(60);
constexpr uint64_t kStepsMax = 2'000'000;
constexpr size_t kLinkDepthMax = 20'000;

// Drawn separately, so that the other draws of a seed do not change.
bool HasPasses(uint64_t seed) { return Random(seed + 11'000'033).OneIn(4); }

// Drawn separately too: worlds in which tasks may be cheap.
std::optional<Random> SpeedsOf(uint64_t seed) {
  Random speeds(seed + 12'000'101);
  if (!speeds.OneIn(4)) return std::nullopt;
  return speeds;
}

// Drawn separately too: sharing readers that use one element at a time.
bool HasSlowUse(uint64_t seed) { return Random(seed + 13'000'127).OneIn(2); }
// Drawn separately too: ranks whose supervisor starts them with take-over.
bool TakeOverAlways(uint64_t seed) {
  return Random(seed + 13'000'027).OneIn(2);
}

// Drawn separately too: applications that name the iteration that they begin.
bool NamesEpochs(uint64_t seed) { return Random(seed + 14'000'029).OneIn(3); }

// Drawn separately too: pipelines with Python functions.
std::optional<Random> PythonsOf(uint64_t seed) {
  Random pythons(seed + 15'000'017);
  if (!pythons.OneIn(4)) return std::nullopt;
  return pythons;
}

// Drawn separately too: worlds whose dispatcher's disk is slow.
std::optional<Random> SlowDiskOf(uint64_t seed) {
  Random disk(seed + 16'000'057);
  if (!disk.OneIn(4)) return std::nullopt;
  return disk;
}

// Drawn separately too: worlds with a standby, which takes over now and then.
std::optional<Random> StandbyOf(uint64_t seed) {
  Random standby(seed + 17'000'023);
  if (!standby.OneIn(4)) return std::nullopt;
  return standby;
}

// Maximum size of a worker's frame of cheap data, in frames.
constexpr uint64_t kCheapFrames = 4;
// Factor for the length of runs that are read as fast as possible.
constexpr int64_t kLonger = 5;

}  // namespace

World::World(const Options& options)
    : options_(options),
      random_(options.seed),
      speeds_(SpeedsOf(options.seed)),
      pythons_(PythonsOf(options.seed)),
      slow_disk_(SlowDiskOf(options.seed)),
      standby_(StandbyOf(options.seed)),
      plan_(random_, HasPasses(options.seed), speeds_ ? uint64_t{kLonger} : 1,
            pythons_.has_value(), options.generates) {
  order_ = random_.Choice(
      {Order::kDeterministic, Order::kDeterministic, Order::kAny});
  if (order_ == Order::kAny) {
    sharers_ = random_.Between(1, 3);
    slow_use_ = HasSlowUse(options.seed);
    plan_.RemovePoison();
  }
  iterations_left_ = order_ == Order::kAny ? 1 : random_.Between(1, 3);
  iterations_ = iterations_left_;
  names_epochs_ = options.names_epochs.value_or(NamesEpochs(options.seed));
  in_ranks_ = order_ == Order::kDeterministic && random_.OneIn(3);
  if (in_ranks_) {
    ranks_ = random_.Between(1, 3);
    ranks_take_over_ = TakeOverAlways(options.seed);
    plan_.RemovePoison();
  }
  budget_ = random_.Choice<uint64_t>({300, 1'000, 4'000});
  quota_ = random_.Choice<uint64_t>({100, 400});
  memory_ = random_.Choice<uint64_t>({500, 1'500, 6'000});
  frame_bytes_ = random_.Choice<uint64_t>({100, 400});
  pace_ = absl::Milliseconds(random_.Choice({10, 30, 80}));

  Network::Faults network;
  network.delay_max = absl::Milliseconds(random_.Choice({3, 30, 150}));
  network.duplicates = random_.OneIn(2);
  network_ = std::make_unique<Network>(
      timeline_, random_, network,
      [this](const std::string& from, const std::string& to,
             const Message& message) { return Deliver(from, to, message); });

  settings_.client_timeout = kClientTimeout;
  settings_.sharer_timeout = kClientTimeout;
  settings_.split_time = absl::Milliseconds(random_.Choice({20, 100}));
  settings_.split_bytes = random_.Choice<uint64_t>({500, 3'000});
  settings_.attempts_max = 1'000'000;  // flaky workers never fail a run here
  settings_.deaths_alone_max = 1'000'000;             // nor do killed ones
  settings_.python_grace = absl::InfiniteDuration();  // one may be cut off
  if (speeds_) {                                      // room to prefetch them
    settings_.split_bytes = speeds_->Choice<uint64_t>({500, 3'000, 30'000});
    memory_ = speeds_->Choice<uint64_t>({1'500, 6'000});
    frame_bytes_ = speeds_->Choice<uint64_t>({25, 100});
    budget_ = speeds_->Choice<uint64_t>({1'000, 4'000});
    pace_ = absl::Milliseconds(10);
  }
  if (slow_disk_) {
    sync_max_ = absl::Milliseconds(slow_disk_->Choice({10, 100, 1'000}));
  }
  StartDispatcher(/*wiped=*/true);
  uint64_t workers = random_.Between(1, 3);
  if (speeds_ && speeds_->OneIn(2)) workers = 1;
  for (uint64_t i = 0; i < workers; ++i) {
    StartWorker(fmt::format("tcp://w{}", i));
  }
  // Most workers join while the first pass is read.
  for (uint64_t i = 0; plan_.in_passes() && i < random_.Between(0, 2); ++i) {
    timeline_.After(random_.UpTo(absl::Milliseconds(500)),
                    [this] { Fault("new worker"); });
  }
  if (order_ == Order::kAny) {
    members_.resize(sharers_);
    for (size_t i = 0; i < sharers_; ++i)
      members_[i] = StartReader(false, i).name;
  } else if (in_ranks_) {
    StartRanks(ranks_, absl::ZeroDuration());
  } else {
    tokens_.resize(1);
    checkpoints_.resize(1);
    main_ = StartReader(false, 0).name;
  }
  two_jobs_ = side_left_ = random_.OneIn(3);
  if (side_left_) {
    side_seed_ = options_.seed + random_.Between(0, 1);
    StartSide(false, random_.UpTo(absl::Seconds(1)));
  }
  if (options_.registers_datasets) {
    registrar_.emplace(options_.seed);
    AskRegistry();
  }
  if (options_.traces_jobs) {
    tracer_.emplace(options_.seed);
    AskForTrace();
  }
  DrawFaults();
  if (standby_) TakeOverLater();
}

Result World::Run() {
  timeline_.After(random_.UpTo(absl::Seconds(1)), [this] { NextFault(); });
  timeline_.After(kFaultsEnd, [this] { Heal(); });
  timeline_.After(absl::Milliseconds(250), [this] { Watch(); });
  uint64_t steps = 0;
  while (!result_.violation && timeline_.Step()) {
    if (++steps > kStepsMax) Fail("steps without end");
    if (finished_at_ && now() > *finished_at_ + kClientTimeout / 2) break;
  }
  CheckJournal();
  if (network_->depth_max() > kLinkDepthMax) Fail("a queue without bound");
  Totals& totals = result_.totals;
  totals["messages"] = network_->totals().delivered;
  totals["messages lost"] = network_->totals().lost;
  totals["messages duplicated"] = network_->totals().duplicated;
  totals["messages reordered"] = network_->totals().reordered;
  totals["events"] = replica_.sequence;
  totals["virtual ms"] = static_cast<uint64_t>(
      absl::ToInt64Milliseconds(now() - absl::UnixEpoch()));
  return result_;
}

void World::Fail(std::string violation) {
  if (result_.violation) return;
  Trace("VIOLATION " + violation);
  result_.violation = std::move(violation);
}

void World::Trace(const std::string& line) {
  if (options_.trace == nullptr) return;
  *options_.trace << fmt::format(
      "{:9.4f} {}\n", absl::ToDoubleSeconds(now() - absl::UnixEpoch()), line);
}

// Checks that the reading completes within its bound.
void World::Watch() {
  // Splits that are computed alone, after deaths of workers, wait for the disk
  // one after another.
  const bool slow = speeds_ || sync_max_ >= absl::Seconds(1);
  if (Finished()) {
    if (!finished_at_) finished_at_ = now();
  } else if (now() >
             std::max(iteration_began_, absl::UnixEpoch() + kFaultsEnd) +
                 (two_jobs_ ? 2 : 1) * (slow ? kLonger : 1) * kLiveness) {
    Fail("no progress: the bound of completion has passed");
  }
  timeline_.After(absl::Milliseconds(250), [this] { Watch(); });
}

// ---- delivery

std::optional<absl::Time> World::Deliver(const std::string& from,
                                         const std::string& to,
                                         const Message& message) {
  const auto worker = workers_.find(to);
  const auto reader = readers_.find(to);
  if (worker != workers_.end()) {
    if (!worker->second.up) return now() + absl::Milliseconds(100);
    if (worker->second.thaw > now()) return worker->second.thaw;
  } else if (reader != readers_.end()) {
    if (reader->second.thaw > now()) return reader->second.thaw;
  } else if (to == kRegistrar) {
    TakeReply(std::get<DatasetReply>(message));
    return std::nullopt;
  } else if (to == kTracer) {
    const auto* reply = std::get_if<StatusReply>(&message);
    if (reply != nullptr && reply->trace) TakeTrace(*reply->trace);
    return std::nullopt;
  } else if (to != kDispatcher) {
    return std::nullopt;  // the process is gone
  } else if (IsStuck(from)) {
    return TellFormer(from, message);
  } else if (!dispatcher_up_) {
    return now() + absl::Milliseconds(100);
  } else if (dispatcher_thaw_ > now()) {
    return dispatcher_thaw_;
  }
  if (options_.trace != nullptr) {
    Trace(fmt::format("{} -> {} {}", from, to, Describe(message)));
  }
  const auto when = static_cast<uint64_t>(absl::ToUnixNanos(now()));
  result_.trace_hash =
      Fold(Fold(Fold(result_.trace_hash ^ when, from), to), message);
  if (to == kDispatcher) {
    TellDispatcher(from, message);
  } else if (worker != workers_.end()) {
    StepWorker(worker->second,
               worker->second.core->Handle(ClockOf(worker->second),
                                           PeerId(from), message));
  } else {
    StepReader(reader->second,
               reader->second.core->Handle(ClockOf(reader->second),
                                           PeerId(from), message));
  }
  return std::nullopt;
}

// ---- workers

void World::StartWorker(const std::string& name) {
  WorkerProcess& worker = workers_[name];
  worker = WorkerProcess{};
  worker.name = name;
  worker.life = ++lives_;
  worker.skew = DrawSkew();
  worker.slowness = random_.Choice<int64_t>({1, 2, 6});
  trace_ = {};  // another life has another clock
  worker.threads = static_cast<uint32_t>(random_.Between(1, 2));
  worker.free_at.resize(worker.threads);
  WorkerAgentSettings settings;
  settings.worker = WorkerId(name);
  settings.incarnation = Incarnation(worker.life);
  settings.threads = worker.threads;
  settings.slots = 2 * worker.threads;
  settings.memory_bytes = memory_;
  settings.frame_bytes = frame_bytes_;
  settings.cache_bytes = 3 * frame_bytes_;
  if (pythons_) {
    // One worker is always fit; others have another interpreter in each life.
    worker.fit = workers_.size() == 1 || name == workers_.begin()->first ||
                 pythons_->OneIn(2);
    if (!worker.fit) ++result_.totals["workers unfit"];
    if (worker.fit || pythons_->OneIn(2)) {
      settings.python = FakePlan::Interpreter(worker.fit);
    }
  }
  worker.core = options_.makers.worker(std::move(settings));
  if (speeds_) {
    worker.speed = speeds_->Choice({Speed::kFast, Speed::kFast, Speed::kBetween,
                                    Speed::kSlower, Speed::kSlow});
    worker.core->ReadInPlace(speeds_->OneIn(2));
  }
  StepWorker(worker, worker.core->OnTick(ClockOf(worker)));
}

void World::KillWorker(WorkerProcess& worker, absl::Duration revive_after) {
  worker.up = false;
  worker.thaw = now();
  ++worker.life;  // its tasks are ignored
  network_->Cut(worker.name);
  if (dispatcher_up_) dispatcher_->OnPeerGone(PeerId(worker.name));
  timeline_.After(revive_after, [this, name = worker.name] {
    if (!workers_.at(name).up) StartWorker(name);
  });
}

// Runs `action` when the worker can run it: not while it is frozen, and only in
// the same life. `action` may be stored, so it holds its data by value.
void World::OnWorker(const std::string& name, uint64_t life,
                     std::function<void(WorkerProcess&)> action) {
  WorkerProcess& worker = workers_.at(name);
  if (worker.life != life) return;
  if (worker.thaw > now()) {
    timeline_.At(worker.thaw, [this, name, life, action = std::move(action)] {
      OnWorker(name, life, action);
    });
    return;
  }
  action(worker);
}

void World::StepWorker(WorkerProcess& worker, WorkerEffects effects) {
  for (const PlanDefinition& definition : effects.define) {
    worker.defined[definition.plan] = definition.iteration;
    if (definition.graph != plan_.run_graph())
      Fail("a worker got another graph");
    timeline_.After(
        random_.UpTo(absl::Milliseconds(5)),
        [this, name = worker.name, life = worker.life, plan = definition.plan] {
          OnWorker(name, life, [this, plan](WorkerProcess& w) {
            StepWorker(w,
                       w.core->OnDefined(ClockOf(w), plan, absl::OkStatus(),
                                         {.alike = !plan_.numbered(),
                                          .positions_ahead = kPositionsAhead}));
          });
        });
  }
  for (const ManifestRequest& request : effects.resolve) {
    timeline_.After(random_.UpTo(absl::Milliseconds(50)),
                    [this, name = worker.name, life = worker.life,
                     result = ManifestResult{request.graph_fingerprint,
                                             absl::OkStatus(), "manifest"}] {
                      OnWorker(name, life, [this, result](WorkerProcess& w) {
                        StepWorker(w, w.core->OnResolved(ClockOf(w), result));
                      });
                    });
  }
  for (const ComputeRequest& request : effects.compute) {
    Compute(worker, request);
  }
  for (const TaskId task : effects.stop) {
    ++result_.totals["tasks stopped"];
    worker.stopped.insert(task);
  }
  for (Outgoing& outgoing : effects.sends) {
    CheckState(outgoing.message);
    network_->Send(worker.name, outgoing.to.value(),
                   std::move(outgoing.message));
  }
  effects.unsent.clear();
  // Each session is a head at most once; each head may overdraw by one
  // position.
  const uint64_t bound =
      memory_ + readers_.size() * plan_.position_bytes_max() +
      2 * worker.threads * (FrameMax() + plan_.position_bytes_max());
  if (worker.core->buffered_bytes() > bound) {
    Fail(fmt::format("{} holds {} bytes, its bound is {}", worker.name,
                     worker.core->buffered_bytes(), bound));
  }
  if (effects.drained && worker.up) {
    ++result_.totals["workers drained"];
    KillWorker(worker, absl::Milliseconds(random_.Choice({100, 1'000})));
    return;
  }
  if (worker.core->awaits_transport()) {
    return StepWorker(worker, worker.core->OnSent(ClockOf(worker)));
  }
  ArmWorker(worker);
}

void World::ArmWorker(WorkerProcess& worker) {
  const absl::Time deadline =
      std::max(worker.core->NextDeadline() - worker.skew, worker.thaw);
  if (deadline >= worker.wake) return;
  worker.wake = deadline;
  timeline_.At(deadline, [this, name = worker.name, life = worker.life] {
    OnWorker(name, life, [this](WorkerProcess& w) {
      if (now() < w.wake) return;
      w.wake = absl::InfiniteFuture();
      StepWorker(w, w.core->OnTick(ClockOf(w)));
      if (w.up && w.core->NextDeadline() <= ClockOf(w)) {
        Fail("a worker's deadline does not pass");
      }
    });
  });
}

void World::Compute(WorkerProcess& worker, const ComputeRequest& request) {
  const auto iteration = worker.defined.find(request.plan);
  if (iteration == worker.defined.end()) {
    return Fail("a worker runs a plan that it does not have");
  }
  ++result_.totals["tasks"];
  if (request.bytes_target > frame_bytes_) {
    ++result_.totals["cheap tasks"];
    if (request.bytes_target == FrameMax())
      ++result_.totals["large cheap tasks"];
  }
  BeginTask(worker, iteration->second, request);
  Piece piece = plan_.Compute(iteration->second, request.begin, request.end,
                              request.bytes_target, request.share);
  if (piece.state != nullptr) worker.states.insert(piece.state->at);
  const absl::Duration busy = BusyOf(worker, request, piece);
  absl::Time& free =
      *std::min_element(worker.free_at.begin(), worker.free_at.end());
  free = std::max(free, now()) + busy;
  absl::StatusOr<Piece> outcome = std::move(piece);
  if (now() < worker.flaky_until && random_.OneIn(4)) {
    ++result_.totals["tasks failed"];
    outcome = Unavailable("the disk did not answer");
  }
  auto shared = std::make_shared<absl::StatusOr<Piece>>(std::move(outcome));
  std::optional<TaskTimes> times;
  if (request.trace) {
    times = TaskTimes{free - busy + worker.skew, free + worker.skew, 0};
  }
  timeline_.At(free, [this, name = worker.name, life = worker.life,
                      task = request.task, shared, busy, times] {
    OnWorker(name, life, [this, task, shared, busy, times](WorkerProcess& w) {
      if (w.stopped.erase(task) > 0) *shared = Cancelled("it was stopped");
      StepWorker(w,
                 w.core->OnComputed(ClockOf(w), task, *shared, TaskCost{busy},
                                    nullptr, nullptr, times));
    });
  });
}

// A generator begins with the last state before the task's first element.
void World::BeginTask(WorkerProcess& worker, uint64_t iteration,
                      const ComputeRequest& request) {
  if (request.state != nullptr) {
    const Cursor at = request.state->at;
    if (request.state->bytes != FakePlan::StateOf(iteration, at)) {
      Fail(fmt::format("a task of iteration {} has the state {} of {}.{}",
                       iteration, request.state->bytes, at.p, at.i));
    }
    worker.states.insert(at);
    ++result_.totals["states given"];
  }
  if (request.begin.i == 0) return;
  const auto after = worker.states.upper_bound(request.begin);
  const bool found =
      after != worker.states.begin() && std::prev(after)->p == request.begin.p;
  ++result_.totals[found ? "shards continued" : "shards begun again"];
}

// A receiver would refuse a state that does not lead to its place.
void World::CheckState(const Message& message) {
  const auto* grant = std::get_if<Grant>(&message);
  const auto* frame = std::get_if<Frame>(&message);
  if (grant != nullptr && grant->state != nullptr &&
      !grant->state->LeadsTo(grant->start)) {
    Fail("the state of a grant does not lead to its start");
  }
  if (frame != nullptr && frame->piece.state != nullptr &&
      !frame->piece.state->LeadsTo(frame->piece.end)) {
    Fail("the state of a piece does not lead to its end");
  }
}

absl::Duration World::BusyOf(WorkerProcess& worker,
                             const ComputeRequest& request,
                             const Piece& piece) {
  const auto bytes = static_cast<int64_t>(
      piece.chunk.rows == 0 ? 0 : piece.chunk.ElementBytes());
  if (worker.speed == Speed::kSlower && speeds_->OneIn(16)) {
    worker.speed = Speed::kSlow;
  }
  if (worker.speed == Speed::kBetween) {
    if (speeds_->OneIn(8)) worker.dear = !worker.dear;
    return absl::Nanoseconds(worker.dear ? 2 * bytes : 1);
  }
  if (worker.speed != Speed::kSlow) return absl::Nanoseconds(1 + bytes / 16);
  absl::Duration busy = absl::Microseconds(100);
  for (uint64_t p = request.begin.p; p < piece.end.p; ++p) {
    if (plan_.numbered() && !request.share.Has(p)) continue;
    busy += plan_.CostOf(p) * worker.slowness;
  }
  return busy;
}

uint64_t World::FrameMax() const {
  return speeds_ ? kCheapFrames * frame_bytes_ : frame_bytes_;
}

// ---- readers' state machines

void World::StepReader(ReaderProcess& reader, ReadEffects effects) {
  for (Outgoing& outgoing : effects.sends) {
    CheckState(outgoing.message);
    network_->Send(reader.name, outgoing.to.value(),
                   std::move(outgoing.message));
  }
  if (reader.core->awaited() > 0 && !reader.core->joins() &&
      result_.totals["dispatchers wiped"] == 0 &&
      result_.totals["dispatcher crashes"] == 0 &&
      result_.totals["readers resumed"] == 0) {
    Fail(reader.name +
         " waits for positions of ranks, and neither the "
         "dispatcher nor a reader was restarted");
  }
  const uint64_t bound = budget_ + FrameMax() + plan_.position_bytes_max();
  if (reader.core->buffered_bytes() > bound) {
    Fail(fmt::format("{} buffers {} bytes, its bound is {}", reader.name,
                     reader.core->buffered_bytes(), bound));
  }
  ArmReader(reader);
}

void World::ArmReader(ReaderProcess& reader) {
  const absl::Time deadline =
      std::max(reader.core->NextDeadline() - reader.skew, reader.thaw);
  if (deadline >= reader.wake) return;
  reader.wake = deadline;
  timeline_.At(deadline, [this, name = reader.name] {
    const auto it = readers_.find(name);
    if (it == readers_.end()) return;
    ReaderProcess& r = it->second;
    if (now() < r.wake) return;
    r.wake = absl::InfiniteFuture();
    if (r.thaw > now()) return ArmReader(r);
    StepReader(r, r.core->OnTick(ClockOf(r)));
    if (r.core->NextDeadline() <= ClockOf(r)) {
      Fail("a reader's deadline does not pass");
    }
  });
}

Result Simulate(const Options& options) { return World(options).Run(); }

}  // namespace feedmill::sim
