// What a WorkerAgent computes next, and in whose memory.
#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/status.h"
#include "worker/worker_agent.h"

namespace feedmill {
namespace {

// A task is long enough to be worth handing over, short enough to be fair.
constexpr uint64_t kTaskNanoseconds = 10'000'000;
constexpr uint64_t kGrowth = 4;
// Measurements are halved beyond this: what counts is the recent past.
constexpr uint64_t kMeasuredNanoseconds = 1'000'000'000;
constexpr uint64_t kMeasuredPositions = uint64_t{1} << 20;
constexpr uint64_t kTasksPerThread = 2;
// What is made as fast as memory is read. It is not made far ahead of the
// credit for it, where it would only grow cold; and where elements are large,
// several go into a frame, which costs more than they do.
constexpr uint64_t kCheapBytesPerNanosecond = 1;
constexpr uint64_t kCheapAheadBytes = uint64_t{4} << 20;
constexpr uint64_t kCheapFrames = 8;

uint64_t PositionsIn(Cursor begin, Cursor end) {
  return std::max<uint64_t>(1, end.p - begin.p);
}

}  // namespace

// ---- results

WorkerEffects WorkerAgent::OnComputed(
    absl::Time now, TaskId id, absl::StatusOr<Piece> piece, absl::Duration busy,
    std::shared_ptr<const PackedParts> packed) {
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

  auto lease = leases_.find(task.split);
  if (lease != leases_.end() && lease->second.stream) {
    Held& held = lease->second;
    Stream& stream = *held.stream;
    auto segment = stream.segments.find(task.begin);
    // A stream that was dropped and opened again has other tasks.
    if (segment != stream.segments.end() && segment->second.task == id) {
      if (piece.ok()) {
        Store(stream, segment, *std::move(piece), std::move(packed));
        Send(held, effects);
        const bool complete =
            stream.frontier == stream.stop &&
            std::all_of(stream.segments.begin(), stream.segments.end(),
                        [](const auto& entry) {
                          return entry.second.piece.has_value();
                        });
        if (complete) BeatSoon(now);
      } else {
        Fail(now, held, piece.status());
      }
    }
  }
  Schedule(now, effects);
  return effects;
}

// Puts a piece in the place of its segment. What the segment covers beyond
// the piece is wanted again; beyond a data error nothing is.
void WorkerAgent::Store(Stream& stream,
                        std::map<Cursor, Segment>::iterator segment,
                        Piece piece,
                        std::shared_ptr<const PackedParts> packed) {
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
  if (piece.begin < stream.next) {  // the stream went on meanwhile
    if (piece.end < stream.next ||
        (piece.end == stream.next && piece.error.ok())) {
      // Nothing of it is new; the place of what is wanted moves along.
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
    piece = piece.From(stream.next);
    packed.reset();
  }
  Segment ready{.end = piece.end};
  ready.packed = std::move(packed);
  ready.bytes = piece.chunk.rows == 0 ? 0 : piece.chunk.ElementBytes();
  used_bytes_ += ready.bytes;
  const Cursor begin = piece.begin;
  ready.piece = std::move(piece);
  stream.segments.insert_or_assign(begin, std::move(ready));
}

// Forgets all segments that begin at or after `cursor`. Their tasks run on.
void WorkerAgent::DropFrom(Stream& stream, Cursor cursor) {
  auto first = stream.segments.lower_bound(cursor);
  for (auto it = first; it != stream.segments.end(); ++it) {
    used_bytes_ -= it->second.bytes;
  }
  stream.segments.erase(first, stream.segments.end());
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

// ---- what next

void WorkerAgent::Schedule(absl::Time now, WorkerEffects& effects) {
  while (tasks_.size() < kTasksPerThread * settings_.threads) {
    Held* held = NextToCompute(now);
    if (held == nullptr) return;
    const PlanRecord& plan = plans_.at(held->lease.plan);
    uint64_t positions = PositionsFor(plan);
    if (!Fits(ExpectedBytes(plan, positions))) {
      positions = 1;  // a starved head may overdraw by that
      TakeMemory(*held, ExpectedBytes(plan, positions));
    }
    Start(*held, positions, effects);
  }
}

// Heads first, the one with the fewest tasks before others; then low
// positions (rule 17).
WorkerAgent::Held* WorkerAgent::NextToCompute(absl::Time now) {
  using Rank = std::tuple<bool, size_t, Cursor, SplitId>;
  Held* best = nullptr;
  Rank best_rank;
  for (auto& [split, held] : leases_) {
    if (!MayCompute(now, held)) continue;
    const Stream& stream = *held.stream;
    size_t running = 0;
    if (stream.head) {
      for (const auto& [begin, segment] : stream.segments) {
        running += segment.task != TaskId() ? 1 : 0;
      }
    }
    const Rank rank{!stream.head, running, stream.next, split};
    if (best == nullptr || rank < best_rank) {
      best = &held;
      best_rank = rank;
    }
  }
  return best;
}

bool WorkerAgent::MayCompute(absl::Time now, const Held& held) const {
  if (!held.stream || !held.failure.ok()) return false;
  const Stream& stream = *held.stream;
  if (now - stream.granted > park_after_) return false;
  auto plan = plans_.find(held.lease.plan);
  if (plan == plans_.end() || plan->second.state != PlanState::kReady) {
    return false;
  }
  const bool wanted =
      stream.frontier < stream.stop ||
      std::any_of(stream.segments.begin(), stream.segments.end(),
                  [](const auto& entry) {
                    const Segment& segment = entry.second;
                    return segment.task == TaskId() && !segment.piece;
                  });
  if (!wanted || FarAhead(plan->second, stream)) return false;
  return Starved(held) ||
         Fits(ExpectedBytes(plan->second, PositionsFor(plan->second)));
}

bool WorkerAgent::Cheap(const PlanRecord& plan) {
  return plan.busy_ns > 0 &&
         plan.bytes > kCheapBytesPerNanosecond * plan.busy_ns;
}

uint64_t WorkerAgent::FrameBytes(const PlanRecord& plan) const {
  const bool large = plan.positions > 0 &&
                     plan.bytes / plan.positions >= settings_.frame_bytes / 2;
  return Cheap(plan) && large ? kCheapFrames * settings_.frame_bytes
                              : settings_.frame_bytes;
}

// Whether what is ready waits for credit, and would be made again in no time.
bool WorkerAgent::FarAhead(const PlanRecord& plan, const Stream& stream) {
  if (!Cheap(plan) || stream.segments.empty() ||
      !stream.segments.begin()->second.piece) {
    return false;
  }
  uint64_t ready = 0;
  for (const auto& [begin, segment] : stream.segments) ready += segment.bytes;
  return ready >= kCheapAheadBytes;
}

bool WorkerAgent::Fits(uint64_t bytes) const {
  const uint64_t taken = used_bytes_ + expected_bytes_;
  return taken == 0 || taken + bytes <= settings_.memory_bytes;
}

// A head that could send, has nothing to send and is making nothing.
bool WorkerAgent::Starved(const Held& held) const {
  const Stream& stream = *held.stream;
  if (!stream.head || stream.sent >= stream.total) return false;
  if (stream.segments.empty()) return true;
  return !stream.segments.begin()->second.piece &&
         std::none_of(
             stream.segments.begin(), stream.segments.end(),
             [](const auto& entry) { return entry.second.task != TaskId(); });
}

// Takes the memory of streams that cannot send, the furthest ones first, and
// at last of what stands too far ahead in its own, until `bytes` more fit.
void WorkerAgent::TakeMemory(Held& for_whom, uint64_t bytes) {
  std::vector<std::pair<Cursor, SplitId>> blocked;
  for (const auto& [split, held] : leases_) {
    if (&held == &for_whom || !held.stream) continue;
    const Stream& stream = *held.stream;
    if (stream.segments.empty()) continue;
    if (stream.segments.begin()->second.piece) {
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

// Frees ready pieces from the far end until `bytes` fit. They are computed
// again.
void WorkerAgent::GiveUp(Held& held, uint64_t bytes) {
  Stream& stream = *held.stream;
  for (auto it = stream.segments.rbegin();
       it != stream.segments.rend() && !Fits(bytes); ++it) {
    Segment& segment = it->second;
    if (!segment.piece) continue;
    if (!segment.piece->error.ok()) stream.stop = held.lease.end;
    used_bytes_ -= segment.bytes;
    segment.bytes = 0;
    segment.piece.reset();
    segment.packed.reset();
  }
  while (!stream.segments.empty()) {
    auto last = std::prev(stream.segments.end());
    if (last->second.piece || last->second.task != TaskId()) break;
    stream.frontier = last->first;
    stream.segments.erase(last);
  }
}

// Starts a task for the first positions that nobody computes yet.
void WorkerAgent::Start(Held& held, uint64_t positions,
                        WorkerEffects& effects) {
  Stream& stream = *held.stream;
  const PlanRecord& plan = plans_.at(held.lease.plan);
  auto hole = std::find_if(
      stream.segments.begin(), stream.segments.end(), [](const auto& entry) {
        return entry.second.task == TaskId() && !entry.second.piece;
      });
  const bool at_frontier = hole == stream.segments.end();
  const Cursor begin = at_frontier ? stream.frontier : hole->first;
  const Cursor limit = at_frontier ? stream.stop : hole->second.end;
  const Cursor end =
      positions < limit.p - begin.p ? Cursor{begin.p + positions, 0} : limit;
  const TaskId id{++last_task_};
  if (!at_frontier && end < limit) {
    stream.segments.emplace(end, Segment{.end = limit});
  }
  stream.segments.insert_or_assign(begin, Segment{.end = end, .task = id});
  if (at_frontier) stream.frontier = end;

  const uint64_t expected = ExpectedBytes(plan, PositionsIn(begin, end));
  expected_bytes_ += expected;
  tasks_.emplace(id,
                 Task{held.lease.split, held.lease.plan, begin, end, expected});
  effects.compute.push_back({id, held.lease.plan, begin, end, FrameBytes(plan),
                             held.lease.share, stream.to, stream.compression});
}

// As many as fill a frame or take 10 ms, whichever is less.
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
