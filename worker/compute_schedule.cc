#include "worker/compute_schedule.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/base/check.h"
#include "core/base/status.h"

namespace feedmill {
namespace {

constexpr uint64_t kTasksPerThread = 2;
// Total duration of cheap tasks that the requesting thread runs itself, one
// after the other, instead of waking another thread.
constexpr double kAtOnceNanoseconds = 1'000'000;
// A task that should take longer is the only one of a thread: otherwise what it
// is followed by, such as the next part of the same file, waits for another
// long task. Ordinary tasks take 10 ms (CostModel::PositionsIn).
constexpr double kLongNanoseconds = 20'000'000;

uint64_t PositionsIn(Cursor begin, Cursor end) {
  return std::max<uint64_t>(1, end.p - begin.p);
}

}  // namespace

// ---- the end of a task

ComputeTask ComputeSchedule::EndTask(absl::Time now, TaskId id,
                                     absl::StatusOr<Piece>& piece,
                                     const TaskCost& cost,
                                     const StepCosts& costs,
                                     const std::optional<TaskTimes>& times) {
  const auto found = tasks_.find(id);
  FM_CHECK(found != tasks_.end());
  ComputeTask task = std::move(found->second);
  tasks_.erase(found);
  expected_bytes_ -= task.expected_bytes;
  if (task.beside) --beside_;
  places_ -= task.places;

  const bool sound =
      !piece.ok() || (piece->begin == task.begin && piece->end <= task.end &&
                      (task.begin < piece->end || !piece->error.ok()));
  if (!sound) {
    piece = Internal("a task of positions {} to {} of plan {} gave {} to {}",
                     task.begin.p, task.end.p, task.plan.value(),
                     piece->begin.p, piece->end.p);
  }
  if (piece.ok()) Measure(now, task, *piece, cost.Planned());
  context_.load.AddBusy(cost.busy);
  if (times.has_value())
    context_.spans.AddTask(now, task, piece, costs, *times);
  context_.load.NoteCosts(task.plan, costs);
  if (CompiledPlan* const plan = context_.plans.Find(task.plan)) {
    if (std::exchange(plan->traits.beside, cost.beside) != cost.beside) {
      context_.clock.BeatSoon(now);  // see LeasesBeside
    }
    *plan->served +=
        (absl::ToDoubleNanoseconds(cost.busy) - task.expected_cost) /
        task.weight;
  }
  return task;
}

void ComputeSchedule::Measure(absl::Time now, const ComputeTask& task,
                              const Piece& piece, absl::Duration busy) {
  const uint64_t positions = PositionsIn(task.begin, piece.end);
  const uint64_t bytes = piece.chunk.rows == 0 ? 0 : piece.chunk.ElementBytes();
  PlanCost& cost = costs_[task.plan];
  cost.plan = task.plan;
  cost.positions += positions;
  cost.bytes += bytes;
  cost.busy += busy;
  CompiledPlan* const plan = context_.plans.Find(task.plan);
  if (plan == nullptr) return;
  if (!plan->cost.known())
    context_.clock.BeatSoon(now);  // the first cost of a plan
  plan->cost.Add(positions, bytes, busy);
}

void ComputeSchedule::StopUnneeded() {
  for (auto& [id, task] : tasks_) {
    if (task.stopped || Needed(id, task)) continue;
    task.stopped = true;
    if (task.shared_key) {
      context_.shared.Abandon(*task.shared_key, task.begin, id);
    }
    context_.effects.stop.push_back(id);
  }
}

// Another rank of the plan may still ask for a piece that ranks share.
bool ComputeSchedule::Needed(TaskId id, const ComputeTask& task) const {
  if (task.shared_key) {
    return std::any_of(context_.leases.begin(), context_.leases.end(),
                       [&](const auto& entry) {
                         return entry.second.lease.plan == task.plan;
                       });
  }
  const auto held = context_.leases.find(task.split);
  return held != context_.leases.end() && held->second.stream &&
         held->second.stream->Awaits(id);
}

std::vector<PlanCost> ComputeSchedule::TakeCosts() {
  std::vector<PlanCost> taken;
  for (auto& [plan, cost] : costs_) taken.push_back(std::move(cost));
  costs_.clear();
  return taken;
}

// ---- scheduling

void ComputeSchedule::Schedule(absl::Time now) {
  for (auto& [split, held] : context_.leases) Adopt(now, held);
  const auto waits = [&](const auto& entry) {
    return WaitsForMemory(now, entry.second);
  };
  const auto beside = [](const auto& entry) {
    return entry.second.traits.beside;
  };
  while (!ThreadsAreBusy() || std::any_of(context_.plans.all().begin(),
                                          context_.plans.all().end(), beside)) {
    LeasedSplit* held = NextToCompute(now);
    if (held == nullptr) {
      if (ThreadsAreBusy()) return;
      if (std::none_of(context_.leases.begin(), context_.leases.end(), waits))
        return;
      // Pieces kept for other ranks are dropped in favour of present requests.
      if (context_.shared.DropIdle()) continue;
      return context_.unsent.NoteAwaited();
    }
    const CompiledPlan& plan = *context_.plans.Find(held->lease.plan);
    uint64_t positions = PositionsFor(plan);
    if (!FreeIdle(ExpectedBytes(plan, positions))) {
      positions = 1;  // a starved head may overdraw memory by one position
      TakeMemory(*held, ExpectedBytes(plan, positions));
    }
    Start(now, *held, positions);
  }
}

bool ComputeSchedule::WaitsForMemory(absl::Time now,
                                     const LeasedSplit& held) const {
  if (!Wants(now, held)) return false;
  const CompiledPlan& plan = *context_.plans.Find(held.lease.plan);
  return MayHaveTask(plan) && !HasRoom(plan);
}

// Returns the next lease to compute: of the least-served job; heads first, of
// these the one with the fewest tasks; then low positions (rule 17). In a
// family, splits that are needed soon come before low positions, and streams
// that have made more than they may send last: the read waits for another
// input.
LeasedSplit* ComputeSchedule::NextToCompute(absl::Time now) {
  using Rank =
      std::tuple<double, bool, bool, size_t, uint32_t, Cursor, SplitId>;
  WeighJobs(now);
  LeasedSplit* best = nullptr;
  Rank best_rank;
  for (auto& [split, held] : context_.leases) {
    if (!MayCompute(now, held)) continue;
    const OutgoingStream& stream = *held.stream;
    const bool head = stream.terms.head && held.lease.depth == 0;
    const CompiledPlan& plan = *context_.plans.Find(held.lease.plan);
    const bool ahead = !plan.traits.family.empty() && held.lease.depth == 0 &&
                       WaitsToSend(stream);
    const Rank rank{Served(plan),
                    ahead,
                    !head,
                    head ? stream.RunningTasks() : 0,
                    held.lease.depth,
                    stream.next(),
                    split};
    if (best == nullptr || rank < best_rank) {
      best = &held;
      best_rank = rank;
    }
  }
  return best;
}

// True if the lease has something to compute, regardless of memory.
bool ComputeSchedule::Wants(absl::Time now, const LeasedSplit& held) const {
  if (!held.failure.ok() || !held.Granted(now, context_.clock.park_after())) {
    return false;
  }
  const CompiledPlan* const plan = context_.plans.Find(held.lease.plan);
  if (plan == nullptr || plan->state != CompiledPlan::State::kReady) {
    return false;
  }
  return held.stream->Wants() && !FarAhead(*plan, *held.stream);
}

bool ComputeSchedule::MayCompute(absl::Time now,
                                 const LeasedSplit& held) const {
  if (!Wants(now, held)) return false;
  const CompiledPlan& plan = *context_.plans.Find(held.lease.plan);
  return HasThread(plan) && MayHaveTask(plan) &&
         (Starved(*held.stream) || HasRoom(plan));
}

bool ComputeSchedule::ThreadsAreBusy() const {
  return places_ >= kTasksPerThread * context_.settings.threads;
}

bool ComputeSchedule::HasThread(const CompiledPlan& plan) const {
  return plan.traits.beside ? beside_ < kTasksBesideMax : !ThreadsAreBusy();
}

// True if the stream may overdraw the memory: a head whose client is sent
// nothing.
bool ComputeSchedule::Starved(const OutgoingStream& stream) const {
  return stream.Starved() && !context_.unsent.Has(stream.to());
}

// True if the next piece waits for the client.
bool ComputeSchedule::WaitsToSend(const OutgoingStream& stream) const {
  return stream.WaitsForCredit() ||
         (stream.NextIsReady() &&
          !context_.unsent.MayAdd(stream.to(), stream.NextBytes()));
}

// Updates each job's memory, tasks and weight, and which jobs are read here
// now.
void ComputeSchedule::WeighJobs(absl::Time now) {
  weights_ = 0;
  for (auto& [id, plan] : context_.plans.all()) {
    plan.taken = *plan.made_bytes;
    plan.tasks = 0;
    plan.reads = false;
  }
  for (const auto& [id, task] : tasks_) {
    CompiledPlan* const plan = context_.plans.Find(task.plan);
    if (plan == nullptr) continue;
    plan->taken += task.expected_bytes;
    ++plan->tasks;
  }
  for (const auto& [split, held] : context_.leases) {
    CompiledPlan* const plan = context_.plans.Find(held.lease.plan);
    if (plan == nullptr || !held.Granted(now, context_.clock.park_after()))
      continue;
    const uint32_t before = plan->reads ? plan->weight : 0;
    plan->weight = std::max(before, held.stream->terms.weight);
    plan->reads = true;
    weights_ += plan->weight - before;
  }
}

// Unused time is not saved up: an idle job starts at the present level.
double ComputeSchedule::Served(const CompiledPlan& plan) const {
  return std::max(*plan.served, served_);
}

// A cheap plan has at most one task per thread.
bool ComputeSchedule::MayHaveTask(const CompiledPlan& plan) const {
  return !plan.cost.cheap() || plan.tasks < context_.settings.threads;
}

// True if pieces and tasks use up all credit and more could be produced at
// once. The segment that is sent next is never too far ahead: later segments
// cannot be sent before it.
bool ComputeSchedule::FarAhead(const CompiledPlan& plan,
                               const OutgoingStream& stream) const {
  if (!plan.cost.cheap() || stream.empty() ||
      (stream.WantsNext() && !context_.rules->EnoughBehindHole())) {
    return false;
  }
  return stream.BytesWithTasks(FrameBytes(plan)) >= stream.total();
}

// ---- sizes

uint64_t ComputeSchedule::FrameBytes(const CompiledPlan& plan) const {
  return plan.cost.FrameBytes({context_.settings.frame_bytes,
                               context_.settings.cache_bytes, in_place_});
}

uint64_t ComputeSchedule::PositionsFor(const CompiledPlan& plan) const {
  const uint64_t positions = plan.cost.PositionsIn(FrameBytes(plan));
  const uint64_t ahead = plan.traits.positions_ahead;
  if (ahead == 0) return positions;
  // Most of the announced positions are beyond the tasks that run.
  return std::min(positions, std::max<uint64_t>(1, ahead / 8));
}

uint64_t ComputeSchedule::ExpectedBytes(const CompiledPlan& plan,
                                        uint64_t positions) const {
  return plan.cost.BytesOf(positions, FrameBytes(plan));
}

// ---- memory

bool ComputeSchedule::HasRoom(const CompiledPlan& plan) const {
  const uint64_t bytes = ExpectedBytes(plan, PositionsFor(plan));
  return Fits(bytes) && WithinShare(plan, bytes);
}

// True if the job would stay within its share of the memory. A job without
// memory always may take some.
bool ComputeSchedule::WithinShare(const CompiledPlan& plan,
                                  uint64_t bytes) const {
  return weights_ <= plan.weight || plan.taken == 0 ||
         plan.taken + bytes <=
             context_.settings.memory_bytes / weights_ * plan.weight;
}

bool ComputeSchedule::Fits(uint64_t bytes) const {
  const uint64_t taken = context_.used_bytes + expected_bytes_;
  return taken == 0 || taken + bytes <= context_.settings.memory_bytes;
}

// Drops pieces kept for other ranks until `bytes` fit. Returns false if they do
// not fit then either.
bool ComputeSchedule::FreeIdle(uint64_t bytes) {
  while (!Fits(bytes)) {
    if (!context_.shared.DropIdle()) return false;
  }
  return true;
}

// Drops pieces until `bytes` fit: first of streams that cannot send, the
// furthest ones first, then the furthest pieces of the lease's own stream.
// Dropped pieces are computed again. Their memory is free when no other rank
// holds them.
void ComputeSchedule::TakeMemory(LeasedSplit& for_whom, uint64_t bytes) {
  std::vector<std::pair<Cursor, SplitId>> blocked;
  for (const auto& [split, held] : context_.leases) {
    if (&held == &for_whom || !held.stream) continue;
    if (held.stream->NextIsReady()) {
      blocked.emplace_back(held.stream->next(), split);
    }
  }
  std::sort(blocked.rbegin(), blocked.rend());
  const auto enough = [&] { return FreeIdle(bytes); };
  for (const auto& [next, split] : blocked) {
    if (Fits(bytes)) return;
    LeasedSplit& held = context_.leases.at(split);
    held.stream->GiveUp(held.lease.end, enough);
  }
  for_whom.stream->GiveUp(for_whom.lease.end, enough);
}

// ---- tasks

// Returns positions of the plan's leases that were not announced: up to
// `ahead` positions after those that have a task.
std::vector<PositionRange> ComputeSchedule::TakeSoon(const PlanId& id,
                                                     uint64_t ahead) {
  std::vector<PositionRange> soon;
  if (ahead == 0) return soon;
  for (auto& [split, held] : context_.leases) {
    if (held.lease.plan != id || !held.failure.ok()) continue;
    const Cursor next =
        held.stream ? held.stream->frontier() : held.lease.begin;
    const uint64_t end = held.lease.end.p + (held.lease.end.i > 0 ? 1 : 0);
    const uint64_t from = next.p + (next.i > 0 ? 1 : 0);
    if (from >= end) continue;
    const uint64_t to = from + std::min(ahead, end - from);
    const uint64_t begin = std::max(from, held.announced);
    if (begin < to) soon.push_back({begin, to});
    held.announced = std::max(held.announced, to);
    ahead -= to - from;
    if (ahead == 0) break;
  }
  return soon;
}

// Starts a task for the first positions that no task computes.
void ComputeSchedule::Start(absl::Time now, LeasedSplit& held,
                            uint64_t positions) {
  OutgoingStream& stream = *held.stream;
  CompiledPlan& plan = *context_.plans.Find(held.lease.plan);
  const OutgoingStream::Gap gap = stream.FirstGap();
  const Cursor begin = gap.begin;
  Cursor end = positions < gap.limit.p - begin.p
                   ? Cursor{begin.p + positions, 0}
                   : gap.limit;
  std::optional<SharedResults::Key> key = context_.plans.SharedKey(held);
  // The cached piece at `begin` is cut differently: this task is not shared.
  if (key && context_.shared.Find(*key, begin)) key.reset();
  if (key)
    end = std::min(end, context_.shared.NextAfter(*key, begin).value_or(end));
  const TaskId id{++last_task_};
  stream.Fill(gap, end, id);

  const uint64_t expected = ExpectedBytes(plan, PositionsIn(begin, end));
  expected_bytes_ += expected;
  const double cost = plan.cost.NanosecondsFor(PositionsIn(begin, end));
  served_ = Served(plan);
  *plan.served = served_ + cost / plan.weight;
  // Work that waits for a network never runs on the reactor's thread.
  const bool beside = plan.traits.beside;
  if (beside) ++beside_;
  const uint64_t places = beside                     ? 0
                          : cost >= kLongNanoseconds ? kTasksPerThread
                                                     : 1;
  places_ += places;
  const bool at_once = plan.traits.positions_ahead == 0 && !beside &&
                       plan.cost.cheap() &&
                       AtOnceCost() + cost <= kAtOnceNanoseconds;
  const uint64_t trace = held.lease.trace;
  if (trace != 0) context_.spans.NoteBegun(now, held);
  tasks_.emplace(
      id, ComputeTask{held.lease.split, held.lease.plan, begin, end, expected,
                      cost, plan.weight, at_once, beside, places, key,
                      held.lease.share.ranks, trace, held.lease.attempt, now});
  OutgoingStream::Terms& terms = stream.terms;
  context_.effects.compute.push_back(
      {id, held.lease.plan, begin, end, FrameBytes(plan), held.lease.share,
       stream.to(), terms.compression, terms.profile,
       context_.load.MayMeasure(now, held.lease.plan), at_once, beside,
       plan.traits.sequenced && !held.lease.share.whole(), terms.link_rate,
       trace != 0, TakeSoon(held.lease.plan, plan.traits.positions_ahead),
       std::exchange(terms.state, nullptr)});
  if (!key) return;
  context_.shared.Begin(*key, begin, end, id);
  for (auto& [split, other] : context_.leases) Adopt(now, other);
}

double ComputeSchedule::AtOnceCost() const {
  double cost = 0;
  for (const auto& [id, task] : tasks_) {
    if (task.at_once) cost += task.expected_cost;
  }
  return cost;
}

// Takes pieces made, or being made, for another rank, if this rank needs them
// next and they end where its gap ends.
void ComputeSchedule::Adopt(absl::Time now, LeasedSplit& held) {
  const std::optional<SharedResults::Key> key = context_.plans.SharedKey(held);
  if (!key) return;
  bool ready = false;
  while (Wants(now, held)) {
    OutgoingStream& stream = *held.stream;
    const OutgoingStream::Gap gap = stream.FirstGap();
    const auto found = context_.shared.Find(*key, gap.begin);
    if (!found || gap.limit < found->end) break;
    stream.Fill(gap, found->end, found->task,
                found->made == nullptr ? nullptr
                                       : delivery_.PartFor(held, found->made));
    ready = ready || found->made != nullptr;
  }
  if (ready) delivery_.Send(now, held);
}

// ---- the load report

PlanLoad ComputeSchedule::LoadOf(absl::Time now, const PlanId& id,
                                 const CompiledPlan& plan) const {
  PlanLoad load;
  load.plan = id;
  load.ready_bytes = *plan.made_bytes;
  for (const auto& [split, held] : context_.leases) {
    if (held.lease.plan != id ||
        !held.Granted(now, context_.clock.park_after())) {
      continue;
    }
    ++load.streams;
    if (WaitsToSend(*held.stream)) {
      ++load.waiting_for_credit;
    } else if (WaitsForMemory(now, held)) {
      ++load.waiting_for_memory;
    }
  }
  return load;
}

}  // namespace feedmill
