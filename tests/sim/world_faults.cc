#include <algorithm>
#include <iterator>
#include <utility>

#include "core/base/status.h"
#include "tests/sim/world.h"

// The faults, and the time at which they stop.

namespace feedmill::sim {
namespace {

const char* const kFaults[] = {
    "break",         "partition",        "worker crash",
    "worker freeze", "worker flaky",     "drain",
    "new worker",    "reader crash",     "reader freeze",
    "reader leaves", "intruder",         "ranks change",
    "late death",    "dispatcher crash", "dispatcher wiped",
    "side crash",    "side freeze"};
constexpr size_t kWorkersMax = 6;

}  // namespace

// Each seed has its own set of faults, so that effects hidden by other faults
// show too.
void World::DrawFaults() {
  for (const char* fault : kFaults) {
    const std::string kind = fault;
    if (kind == "intruder" && (order_ == Order::kAny || in_ranks_)) continue;
    if (kind == "ranks change" && !in_ranks_) continue;
    if (kind == "late death" && sharers_ < 2) continue;
    if (kind.starts_with("side") && !side_left_) continue;
    if (random_.OneIn(2)) faults_.emplace_back(fault);
  }
  // Added later: drawn separately, so that other seeds do not change.
  if (Random(~options_.seed).OneIn(4))
    faults_.emplace_back("dispatcher freeze");
  // On an emptied dispatcher the first reader to arrive reads.
  const auto has = [&](const char* kind) {
    return std::find(faults_.begin(), faults_.end(), kind) != faults_.end();
  };
  if (has("dispatcher wiped")) {
    if (random_.OneIn(2)) {
      std::erase(faults_, "dispatcher wiped");
    } else {
      std::erase(faults_, "intruder");
    }
  }
  // A rank that waits for the next iteration would be given the first one.
  if (in_ranks_ && iterations_left_ > 1)
    std::erase(faults_, "dispatcher wiped");
  fault_gap_ = absl::Milliseconds(random_.Choice({200, 500, 1'500}));
  // Only lost data is computed again here; no other fault may restart progress.
  if (speeds_ && speeds_->OneIn(2)) {
    faults_ = {"break"};
    fault_gap_ = absl::Milliseconds(100);
  }
}

void World::NextFault() {
  if (healed_) return;
  timeline_.After(random_.UpTo(2 * fault_gap_), [this] { NextFault(); });
  if (faults_.empty()) return;
  const std::string kind = faults_[random_.Between(0, faults_.size() - 1)];
  Trace("fault " + kind);
  ++result_.totals["fault: " + kind];
  Fault(kind);
}

void World::Fault(const std::string& kind) {
  if (kind == "break") return BreakFault();
  if (kind == "partition") return PartitionFault();
  if (kind == "new worker") {
    if (workers_.size() >= kWorkersMax) return;
    return StartWorker(fmt::format("tcp://w{}", workers_.size()));
  }
  if (kind == "dispatcher freeze") {
    dispatcher_thaw_ =
        now() + absl::Milliseconds(random_.Choice({300, 1'500, 4'000}));
    return;
  }
  if (kind.starts_with("dispatcher")) {
    return DispatcherFault(kind == "dispatcher wiped");
  }
  if (kind == "late death") {
    late_death_ = true;
    return;
  }
  if (kind == "ranks change") return ChangeRanks();
  if (kind.starts_with("side")) return SideFault(kind == "side freeze");
  if (kind.starts_with("reader") || kind == "intruder") {
    return ReaderFault(kind);
  }
  WorkerFault(kind);
}

void World::BreakFault() {
  const auto [a, b] = network_->AnyLink();
  if (!a.empty()) network_->Break(a, b);
}

void World::PartitionFault() {
  const auto [a, b] = network_->AnyLink();
  if (a.empty()) return;
  const absl::Duration time =
      absl::Milliseconds(random_.Choice({300, 1'500, 5'000}));
  network_->Partition(a, b, now() + time, random_.OneIn(2));
}

World::WorkerProcess* World::AnyWorker() {
  const auto skip =
      static_cast<ptrdiff_t>(random_.Between(0, workers_.size() - 1));
  WorkerProcess& worker = std::next(workers_.begin(), skip)->second;
  return worker.up ? &worker : nullptr;
}

void World::WorkerFault(const std::string& kind) {
  WorkerProcess* worker = AnyWorker();
  if (worker == nullptr) return;
  if (kind == "worker crash") {
    KillWorker(*worker,
               absl::Milliseconds(random_.Choice({100, 1'000, 3'000})));
  } else if (kind == "worker freeze") {
    worker->thaw =
        now() + absl::Milliseconds(random_.Choice({300, 1'500, 4'000}));
  } else if (kind == "worker flaky") {
    worker->flaky_until = now() + absl::Milliseconds(500);
  } else if (worker->thaw <= now() && !worker->leaving) {
    worker->leaving = true;
    StepWorker(*worker, worker->core->Drain(ClockOf(*worker)));
  }
}

World::ReaderProcess* World::AnyReader() {
  const std::string& name =
      members_.empty() ? main_
                       : members_[random_.Between(0, members_.size() - 1)];
  const auto it = readers_.find(name);
  if (it == readers_.end() || it->second.done) return nullptr;
  return &it->second;
}

void World::ReaderFault(const std::string& kind) {
  ReaderProcess* reader = AnyReader();
  if (reader == nullptr) return;
  const absl::Duration back =
      absl::Milliseconds(random_.Choice({50, 500, 2'000}));
  // A reader that reached its end without a token would begin the next run.
  const bool token = in_ranks_ && tokens_[reader->member].has_value();
  if (in_ranks_ && !token &&
      reader->core->state() == ReadSession::State::kEnded) {
    return;
  }
  const auto replace = [&](bool take_over) {
    if (order_ == Order::kAny) {
      // Sometimes the other readers continue without it.
      if (OtherSharerLives(reader->member) && random_.OneIn(3)) return;
      StartSharerLater(reader->member, back);
    } else if (in_ranks_) {
      if (!reader->core->UnacknowledgedLeaves().empty()) {
        lost_leaves_.insert(reader->member);
      }
      GoBack(reader->member);
      StartRankLater(reader->member, back);
    } else {
      const bool resume = take_over && random_.OneIn(2);
      if (resume) GoBack(0);
      StartMainLater(take_over, back, resume);
    }
  };
  if (kind == "reader crash") {
    const std::string name = reader->name;
    replace(true);
    return KillReader(name);
  }
  if (kind == "reader freeze") {
    reader->thaw =
        now() + absl::Milliseconds(random_.Choice({500, 2'000, 4'000, 7'000}));
    if (order_ == Order::kDeterministic && random_.OneIn(2)) {
      // The reader may reach the end of its run first. Its successor then knows
      // of that run only by its token.
      if (in_ranks_ && !token) return;
      reader->zombie = true;  // it will return and be rejected as replaced
      replace(true);
    }
    return;
  }
  if (kind == "intruder") {
    StartReader(false, 0).intruder = true;
    return;
  }
  // Leaves. A rank's leave would mean that it does not want the rest of the
  // run.
  if (reader->thaw > now() || in_ranks_) return;
  if (!reader->given.empty()) ++result_.totals["stops within a chunk"];
  reader->done = true;
  reader->zombie = true;
  reader->exit = now() + absl::Seconds(1);
  StepReader(*reader, reader->core->Leave(ClockOf(*reader)));
  replace(false);
}

void World::Heal() {
  Trace("heal");
  healed_ = true;
  crash_.reset();
  former_dispatcher_.reset();
  network_->Heal();
  for (auto& [name, worker] : workers_) {
    worker.thaw = std::min(worker.thaw, now());
    worker.flaky_until = now();
    if (worker.up) ArmWorker(worker);
  }
}

}  // namespace feedmill::sim
