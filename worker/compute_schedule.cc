// Chooses what a WorkerAgent computes next, and whose memory it may take.
#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/status.h"
#include "worker/worker_agent.h"

namespace feedmill {
namespace {

// Target duration of a task: long enough to be worth a thread switch, short
// enough to be fair.
constexpr uint64_t kTaskNanoseconds = 10'000'000;
constexpr uint64_t kGrowth = 4;
// Measurements are halved beyond this limit, so that recent ones count more.
constexpr uint64_t kMeasuredNanoseconds = 1'000'000'000;
constexpr uint64_t kMeasuredPositions = uint64_t{1} << 20;
constexpr uint64_t kTasksPerThread = 2;
// Throughput above which producing data is as cheap as reading it from memory.
// Such data is not prefetched and gets one task per thread: it would be evicted
// from the cache before it is sent. A frame costs more than its data then, so
// frames are larger. For large elements they hold several, as far as they fit
// into the cache while being copied.
constexpr uint64_t kCheapBytesPerNanosecond = 1;
constexpr uint64_t kCheapFrames = 2;
constexpr uint64_t kCheapLargeFrames = 4;
// Total duration of cheap tasks that the requesting thread runs itself, one
// after the other, instead of waking another thread.
constexpr double kAtOnceNanoseconds = 1'000'000;

// Costs of completed splits are reported in one heartbeat within this time:
// they only influence the size of later splits.
constexpr absl::Duration kCoalesceCosts = absl::Milliseconds(20);

uint64_t PositionsIn(Cursor begin, Cursor end) {
  return std::max<uint64_t>(1, end.p - begin.p);
}

}  // namespace

// ---- results

WorkerEffects WorkerAgent::OnComputed(absl::Time now, TaskId id,
                                      absl::StatusOr<Piece> piece,
                                      absl::Duration busy,
                                      std::shared_ptr<const PackedParts> packed,
                                      StepCosts costs,
                                      std::optional<TaskTimes> times) {
  WorkerEffects effects;
  auto found = tasks_.find(id);
  FM_CHECK(found != tasks_.end());
  const Task task = std::move(found->second);
  tasks_.erase(found);
  expected_bytes_ -= task.expected_bytes;

  const bool sound =
      !piece.ok() || (piece->begin == task.begin && piece->end <= task.end &&
                      (task.begin < piece->end || !piece->error.ok()));
  if (!sound) {
    piece = Internal("a task of positions {} to {} of plan {} gave {} to {}",
                     task.begin.p, task.end.p, task.plan.value(),
                     piece->begin.p, piece->end.p);
  }
  if (piece.ok()) Measure(now, task, *piece, busy);
  busy_ += busy;
  if (times.has_value()) TraceTask(now, task, piece, costs, *times);
  if (const auto plan = plans_.find(task.plan); plan != plans_.end()) {
    NoteCosts(plan->second, costs);
    plan->second.served +=
        (absl::ToDoubleNanoseconds(busy) - task.expected_cost) / task.weight;
  }
  DeliverAll(now, id, task,
             BufferPiece(times.has_value() ? times->end : now, task,
                         std::move(piece), std::move(packed), std::move(costs)),
             effects);
  Schedule(now, effects);
  return effects;
}

absl::StatusOr<BufferedPiecePtr> WorkerAgent::BufferPiece(
    absl::Time now, const Task& task, absl::StatusOr<Piece> piece,
    std::shared_ptr<const PackedParts> packed, StepCosts costs) {
  if (!piece.ok()) return piece.status();
  const auto plan = plans_.find(task.plan);
  auto made = std::make_shared<BufferedPiece>(
      used_bytes_, plan == plans_.end() ? nullptr : plan->second.made_bytes,
      *std::move(piece), std::move(packed), std::move(costs));
  if (task.trace != 0) made->at = now;
  return made;
}

void WorkerAgent::DeliverAll(absl::Time now, TaskId id, const Task& task,
                             absl::StatusOr<BufferedPiecePtr> made,
                             WorkerEffects& effects) {
  if (!task.shelf) {
    const auto lease = leases_.find(task.split);
    if (lease == leases_.end()) return;
    return Deliver(now, lease->second, id, std::move(made), effects);
  }
  // An error is not kept: each rank that reaches it computes it again.
  if (made.ok() && (*made)->piece.error.ok()) {
    shelf_.Keep(now, *task.shelf, id, *made, task.ranks);
  } else {
    shelf_.Abandon(*task.shelf, task.begin, id);
  }
  for (auto& [split, held] : leases_) Deliver(now, held, id, made, effects);
}

// Stores the result of a task in the stream's segment that waits for it.
void WorkerAgent::Deliver(absl::Time now, Held& held, TaskId task,
                          absl::StatusOr<BufferedPiecePtr> made,
                          WorkerEffects& effects) {
  if (!held.stream) return;
  OutgoingStream& stream = *held.stream;
  // A stream that was dropped and reopened has other tasks.
  const auto segment = std::find_if(
      stream.segments.begin(), stream.segments.end(),
      [&](const auto& entry) { return entry.second.task == task; });
  if (segment == stream.segments.end()) return;
  if (!made.ok()) return Fail(now, held, made.status());
  const Piece& piece = (*made)->piece;
  if (piece.begin < segment->first && piece.end <= segment->first) {
    // another rank's task, which stopped before this segment
    segment->second.task = TaskId();
    return;
  }
  Store(stream, segment, *std::move(made));
  Send(now, held, effects);
  const bool complete =
      stream.frontier == stream.stop &&
      std::all_of(
          stream.segments.begin(), stream.segments.end(),
          [](const auto& entry) { return entry.second.made != nullptr; });
  if (complete) BeatWithin(now, kCoalesceCosts);
}

// Stores a piece in its segment. The rest of the segment beyond the piece
// becomes wanted again; beyond a data error nothing is wanted.
void WorkerAgent::Store(OutgoingStream& stream, Segments::iterator segment,
                        BufferedPiecePtr made) {
  if (made->piece.begin < segment->first) {
    made = std::make_shared<BufferedPiece>(std::move(made), segment->first);
  }
  const Piece& piece = made->piece;
  const Cursor end = segment->second.end;
  stream.segments.erase(segment);
  if (!piece.error.ok()) {
    DropFrom(stream, piece.end);
    stream.frontier = stream.stop = piece.end;
  } else if (piece.end < end) {
    if (end == stream.frontier) {
      stream.frontier = piece.end;
    } else {
      stream.segments.emplace(piece.end, Segment{.end = end});
    }
  }
  if (piece.begin < stream.next) {  // the stream moved on meanwhile
    if (piece.end < stream.next ||
        (piece.end == stream.next && piece.error.ok())) {
      // The piece has nothing new; the wanted segment starts at the new
      // position.
      if (stream.segments.empty()) {
        stream.frontier = stream.next;
        return;
      }
      auto first = stream.segments.begin();
      if (first->first < stream.next) {
        const Cursor wanted_end = first->second.end;
        stream.segments.erase(first);
        stream.segments.emplace(stream.next, Segment{.end = wanted_end});
      }
      return;
    }
    made = std::make_shared<BufferedPiece>(std::move(made), stream.next);
  }
  const Cursor begin = made->piece.begin;
  const Cursor made_end = made->piece.end;
  stream.segments.insert_or_assign(
      begin, Segment{.end = made_end, .made = std::move(made)});
}

// Removes all segments that begin at or after `cursor`. Their tasks run on.
void WorkerAgent::DropFrom(OutgoingStream& stream, Cursor cursor) {
  stream.segments.erase(stream.segments.lower_bound(cursor),
                        stream.segments.end());
}

void WorkerAgent::Measure(absl::Time now, const Task& task, const Piece& piece,
                          absl::Duration busy) {
  const uint64_t positions = PositionsIn(task.begin, piece.end);
  const uint64_t bytes = piece.chunk.rows == 0 ? 0 : piece.chunk.ElementBytes();
  auto [cost, fresh] = costs_.try_emplace(task.plan);
  cost->second.plan = task.plan;
  cost->second.positions += positions;
  cost->second.bytes += bytes;
  cost->second.busy += busy;

  auto found = plans_.find(task.plan);
  if (found == plans_.end()) return;
  PlanRecord& plan = found->second;
  if (plan.positions == 0) BeatSoon(now);  // the first cost of a plan
  plan.positions += positions;
  plan.bytes += bytes;
  plan.busy_ns += static_cast<uint64_t>(
      std::max<int64_t>(0, absl::ToInt64Nanoseconds(busy)));
  plan.positions_max = std::max(
      plan.positions_max, std::min(positions, kMeasuredPositions) * kGrowth);
  while (plan.busy_ns > kMeasuredNanoseconds ||
         plan.positions > kMeasuredPositions) {
    if (plan.positions < 2) break;
    plan.positions /= 2;
    plan.bytes /= 2;
    plan.busy_ns /= 2;
  }
}

// ---- scheduling

void WorkerAgent::Schedule(absl::Time now, WorkerEffects& effects) {
  for (auto& [split, held] : leases_) Adopt(now, held, effects);
  while (tasks_.size() < kTasksPerThread * settings_.threads) {
    Held* held = NextToCompute(now);
    if (held == nullptr) {
      // Pieces kept for other ranks are dropped in favour of present requests.
      if (WaitsForMemory(now) && shelf_.DropIdle()) continue;
      return;
    }
    const PlanRecord& plan = plans_.at(held->lease.plan);
    uint64_t positions = PositionsFor(plan);
    if (!FreeIdle(ExpectedBytes(plan, positions))) {
      positions = 1;  // a starved head may overdraw memory by one position
      TakeMemory(*held, ExpectedBytes(plan, positions));
    }
    Start(now, *held, positions, effects);
  }
}

bool WorkerAgent::WaitsForMemory(absl::Time now) const {
  return std::any_of(leases_.begin(), leases_.end(), [&](const auto& entry) {
    const Held& held = entry.second;
    if (!Wants(now, held)) return false;
    const PlanRecord& plan = plans_.at(held.lease.plan);
    return MayHaveTask(plan) && !HasRoom(plan);
  });
}

// Returns the next lease to compute: of the least-served job; heads first, of
// these the one with the fewest tasks; then low positions (rule 17).
WorkerAgent::Held* WorkerAgent::NextToCompute(absl::Time now) {
  using Rank = std::tuple<double, bool, size_t, Cursor, SplitId>;
  WeighJobs(now);
  Held* best = nullptr;
  Rank best_rank;
  for (auto& [split, held] : leases_) {
    if (!MayCompute(now, held)) continue;
    const OutgoingStream& stream = *held.stream;
    size_t running = 0;
    if (stream.head) {
      for (const auto& [begin, segment] : stream.segments) {
        running += segment.task != TaskId() ? 1 : 0;
      }
    }
    const Rank rank{Served(plans_.at(held.lease.plan)), !stream.head, running,
                    stream.next, split};
    if (best == nullptr || rank < best_rank) {
      best = &held;
      best_rank = rank;
    }
  }
  return best;
}

// True if the lease has something to compute, regardless of memory.
bool WorkerAgent::Wants(absl::Time now, const Held& held) const {
  if (!held.stream || !held.failure.ok()) return false;
  const OutgoingStream& stream = *held.stream;
  if (now - stream.granted > park_after_) return false;
  auto plan = plans_.find(held.lease.plan);
  if (plan == plans_.end() || plan->second.state != PlanState::kReady) {
    return false;
  }
  const bool wanted =
      stream.frontier < stream.stop ||
      std::any_of(stream.segments.begin(), stream.segments.end(),
                  [](const auto& entry) { return entry.second.wanted(); });
  return wanted && !FarAhead(plan->second, stream);
}

bool WorkerAgent::MayCompute(absl::Time now, const Held& held) const {
  if (!Wants(now, held)) return false;
  const PlanRecord& plan = plans_.at(held.lease.plan);
  return MayHaveTask(plan) && (Starved(held) || HasRoom(plan));
}

// Updates each job's memory, tasks and weight, and which jobs are read here
// now.
void WorkerAgent::WeighJobs(absl::Time now) {
  weights_ = 0;
  for (auto& [id, plan] : plans_) {
    plan.taken = *plan.made_bytes;
    plan.tasks = 0;
    plan.reads = false;
  }
  for (const auto& [id, task] : tasks_) {
    const auto plan = plans_.find(task.plan);
    if (plan == plans_.end()) continue;
    plan->second.taken += task.expected_bytes;
    ++plan->second.tasks;
  }
  for (const auto& [split, held] : leases_) {
    const auto found = plans_.find(held.lease.plan);
    if (!held.stream || found == plans_.end()) continue;
    PlanRecord& plan = found->second;
    if (now - held.stream->granted > park_after_) continue;
    const uint32_t before = plan.reads ? plan.weight : 0;
    plan.weight = std::max(before, held.stream->weight);
    plan.reads = true;
    weights_ += plan.weight - before;
  }
}

// True if the job would stay within its share of the memory. A job without
// memory always may take some.
bool WorkerAgent::WithinShare(const PlanRecord& plan, uint64_t bytes) const {
  return weights_ <= plan.weight || plan.taken == 0 ||
         plan.taken + bytes <= settings_.memory_bytes / weights_ * plan.weight;
}

// Unused time is not saved up: an idle job starts at the present level.
double WorkerAgent::Served(const PlanRecord& plan) const {
  return std::max(plan.served, served_);
}

bool WorkerAgent::HasRoom(const PlanRecord& plan) const {
  const uint64_t bytes = ExpectedBytes(plan, PositionsFor(plan));
  return Fits(bytes) && WithinShare(plan, bytes);
}

// A cheap plan has at most one task per thread.
bool WorkerAgent::MayHaveTask(const PlanRecord& plan) const {
  return !Cheap(plan) || plan.tasks < settings_.threads;
}

bool WorkerAgent::Cheap(const PlanRecord& plan) {
  return plan.busy_ns > 0 &&
         plan.bytes > kCheapBytesPerNanosecond * plan.busy_ns;
}

uint64_t WorkerAgent::FrameBytes(const PlanRecord& plan) const {
  if (!Cheap(plan)) return settings_.frame_bytes;
  const bool large = plan.positions > 0 &&
                     plan.bytes / plan.positions >= settings_.frame_bytes / 2;
  const uint64_t least = kCheapFrames * settings_.frame_bytes;
  const uint64_t most = kCheapLargeFrames * settings_.frame_bytes;
  if (!large) return least;
  return in_place_ ? most : std::clamp(settings_.cache_bytes, least, most);
}

// True if pieces and tasks use up all credit and more could be produced at
// once. The segment that is sent next is never too far ahead: later segments
// cannot be sent before it.
bool WorkerAgent::FarAhead(const PlanRecord& plan,
                           const OutgoingStream& stream) const {
  if (!Cheap(plan) || stream.segments.empty() ||
      (stream.segments.begin()->second.wanted() && !EnoughBehindHole())) {
    return false;
  }
  uint64_t bytes = stream.sent;
  for (const auto& [begin, segment] : stream.segments) {
    bytes += segment.task != TaskId() ? FrameBytes(plan) : segment.bytes();
  }
  return bytes >= stream.total;
}

bool WorkerAgent::Fits(uint64_t bytes) const {
  const uint64_t taken = used_bytes_ + expected_bytes_;
  return taken == 0 || taken + bytes <= settings_.memory_bytes;
}

// True for a head that has credit, but has nothing to send and computes
// nothing.
bool WorkerAgent::Starved(const Held& held) const {
  const OutgoingStream& stream = *held.stream;
  if (!stream.head || stream.sent >= stream.total) return false;
  if (stream.segments.empty()) return true;
  return stream.segments.begin()->second.made == nullptr &&
         std::none_of(
             stream.segments.begin(), stream.segments.end(),
             [](const auto& entry) { return entry.second.task != TaskId(); });
}

// Drops pieces kept for other ranks until `bytes` fit. Returns false if they do
// not fit then either.
bool WorkerAgent::FreeIdle(uint64_t bytes) {
  while (!Fits(bytes)) {
    if (!shelf_.DropIdle()) return false;
  }
  return true;
}

// Drops pieces until `bytes` fit: first of streams that cannot send, the
// furthest ones first, then the furthest pieces of the lease's own stream.
void WorkerAgent::TakeMemory(Held& for_whom, uint64_t bytes) {
  std::vector<std::pair<Cursor, SplitId>> blocked;
  for (const auto& [split, held] : leases_) {
    if (&held == &for_whom || !held.stream) continue;
    const OutgoingStream& stream = *held.stream;
    if (stream.segments.empty()) continue;
    if (stream.segments.begin()->second.made != nullptr) {
      blocked.emplace_back(stream.next, split);
    }
  }
  std::sort(blocked.rbegin(), blocked.rend());
  for (const auto& [next, split] : blocked) {
    if (Fits(bytes)) return;
    GiveUp(leases_.at(split), bytes);
  }
  GiveUp(for_whom, bytes);
}

// Drops ready pieces from the far end until `bytes` fit. They are computed
// again. Their memory is free when no other rank holds them.
void WorkerAgent::GiveUp(Held& held, uint64_t bytes) {
  OutgoingStream& stream = *held.stream;
  for (auto it = stream.segments.rbegin();
       it != stream.segments.rend() && !FreeIdle(bytes); ++it) {
    Segment& segment = it->second;
    if (segment.made == nullptr) continue;
    if (!segment.made->piece.error.ok()) stream.stop = held.lease.end;
    segment.made.reset();
  }
  while (!stream.segments.empty()) {
    auto last = std::prev(stream.segments.end());
    if (!last->second.wanted()) break;
    stream.frontier = last->first;
    stream.segments.erase(last);
  }
}

// Starts a task for the first positions that no task computes.
void WorkerAgent::Start(absl::Time now, Held& held, uint64_t positions,
                        WorkerEffects& effects) {
  OutgoingStream& stream = *held.stream;
  PlanRecord& plan = plans_.at(held.lease.plan);
  const Gap gap = FirstGap(stream);
  const Cursor begin = gap.begin;
  Cursor end = positions < gap.limit.p - begin.p
                   ? Cursor{begin.p + positions, 0}
                   : gap.limit;
  std::optional<PieceShelf::Key> shelf = ShelfOf(held);
  // The cached piece at `begin` is cut differently: this task is not shared.
  if (shelf && shelf_.Find(*shelf, begin)) shelf.reset();
  if (shelf) end = std::min(end, shelf_.NextAfter(*shelf, begin).value_or(end));
  const TaskId id{++last_task_};
  Fill(stream, gap, end, id);

  const uint64_t expected = ExpectedBytes(plan, PositionsIn(begin, end));
  expected_bytes_ += expected;
  const double cost = plan.positions == 0
                          ? 0
                          : static_cast<double>(plan.busy_ns) /
                                static_cast<double>(plan.positions) *
                                static_cast<double>(PositionsIn(begin, end));
  served_ = Served(plan);
  plan.served = served_ + cost / plan.weight;
  const bool at_once = Cheap(plan) && AtOnceCost() + cost <= kAtOnceNanoseconds;
  const uint64_t trace = held.lease.trace;
  if (trace != 0) TraceBegun(now, held);
  tasks_.emplace(
      id, Task{held.lease.split, held.lease.plan, begin, end, expected, cost,
               plan.weight, at_once, shelf, held.lease.share.ranks, trace,
               held.lease.attempt, now});
  effects.compute.push_back({id, held.lease.plan, begin, end, FrameBytes(plan),
                             held.lease.share, stream.to, stream.compression,
                             stream.profile, MayMeasure(now, plan), at_once,
                             stream.link_rate, trace != 0});
  if (!shelf) return;
  shelf_.Begin(*shelf, begin, end, id);
  for (auto& [split, other] : leases_) Adopt(now, other, effects);
}

double WorkerAgent::AtOnceCost() const {
  double cost = 0;
  for (const auto& [id, task] : tasks_) {
    if (task.at_once) cost += task.expected_cost;
  }
  return cost;
}

// REQUIRES: Wants is true.
WorkerAgent::Gap WorkerAgent::FirstGap(const OutgoingStream& stream) {
  const auto hole =
      std::find_if(stream.segments.begin(), stream.segments.end(),
                   [](const auto& entry) { return entry.second.wanted(); });
  if (hole == stream.segments.end()) {
    return {stream.frontier, stream.stop, true};
  }
  return {hole->first, hole->second.end, false};
}

// Makes the gap, up to `end`, a segment that waits for the task.
WorkerAgent::Segments::iterator WorkerAgent::Fill(OutgoingStream& stream,
                                                  const Gap& gap, Cursor end,
                                                  TaskId task) {
  if (gap.at_frontier) {
    stream.frontier = end;
  } else if (end < gap.limit) {
    stream.segments.emplace(end, Segment{.end = gap.limit});
  }
  return stream.segments
      .insert_or_assign(gap.begin, Segment{.end = end, .task = task})
      .first;
}

// ---- ranks whose leases need the same pieces

// Returns nullopt if no other rank needs the same pieces.
std::optional<PieceShelf::Key> WorkerAgent::ShelfOf(const Held& held) const {
  if (held.lease.share.whole() || !held.stream) return std::nullopt;
  const auto plan = plans_.find(held.lease.plan);
  if (plan == plans_.end() || !plan->second.alike) return std::nullopt;
  return PieceShelf::Key{held.lease.plan, held.stream->compression};
}

// Takes pieces made, or being made, for another rank, if this rank needs them
// next and they end where its gap ends.
void WorkerAgent::Adopt(absl::Time now, Held& held, WorkerEffects& effects) {
  const std::optional<PieceShelf::Key> shelf = ShelfOf(held);
  if (!shelf) return;
  bool ready = false;
  while (Wants(now, held)) {
    OutgoingStream& stream = *held.stream;
    const Gap gap = FirstGap(stream);
    const auto found = shelf_.Find(*shelf, gap.begin);
    if (!found || gap.limit < found->end) break;
    const auto segment = Fill(stream, gap, found->end, found->task);
    if (found->made == nullptr) continue;
    Store(stream, segment, found->made);
    ready = true;
  }
  if (ready) Send(now, held, effects);
}

// Returns the positions that fill a frame or take 10 ms, whichever are fewer.
uint64_t WorkerAgent::PositionsFor(const PlanRecord& plan) const {
  if (plan.positions == 0) return 1;
  const uint64_t by_bytes =
      FrameBytes(plan) * plan.positions / std::max<uint64_t>(1, plan.bytes);
  const uint64_t by_time =
      kTaskNanoseconds * plan.positions / std::max<uint64_t>(1, plan.busy_ns);
  return std::clamp<uint64_t>(std::min(by_bytes, by_time), 1,
                              plan.positions_max);
}

// A task stops at the end of the position that fills its frame.
uint64_t WorkerAgent::ExpectedBytes(const PlanRecord& plan,
                                    uint64_t positions) const {
  const uint64_t frame_bytes = FrameBytes(plan);
  if (plan.positions == 0) return frame_bytes;
  const uint64_t one = plan.bytes / plan.positions + 1;
  if (positions >= frame_bytes / one + 1) return frame_bytes + one;
  return positions * one;
}

}  // namespace feedmill
