#include "broker/dispatcher.h"
#include "core/base/status.h"

// Lines of the dispatcher's log about workers and jobs.

namespace feedmill {
namespace {

using Kind = DispatcherNote::Kind;

constexpr size_t kLostWorkersMax = 10'000;

std::string Count(uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string SecondsText(absl::Duration duration) {
  return fmt::format("{:.1f} s", absl::ToDoubleSeconds(duration));
}

std::string_view EndingText(RunEnding ending) {
  switch (ending) {
    case RunEnding::kFinished:
      return "finished: every element was read";
    case RunEnding::kCancelled:
      return "cancelled: a reader was stopped before the end";
    case RunEnding::kNone:
    case RunEnding::kLeft:
      break;
  }
  return "left: a reader wanted no more before the end";
}

}  // namespace

std::string Dispatcher::WorkerName(const WorkerId& worker) {
  return worker.value().substr(0, worker.value().find('#'));
}

void Dispatcher::NoteJoined(const WorkerBeat& beat) {
  const auto lost = lost_.find(beat.worker);
  const char* how = "joined";
  if (lost != lost_.end()) {
    how = lost->second == beat.incarnation ? "is back"
                                           : "is back as another process";
    lost_.erase(lost);
  }
  effects_.notes.push_back(
      {Kind::kWorkerJoined, false,
       fmt::format("worker {} {} with {}; {}", WorkerName(beat.worker), how,
                   Count(beat.slots, "slot"),
                   Count(table_.workers().size(), "worker"))});
}

void Dispatcher::NoteLost(const WorkerId& id, const KnownWorker& worker,
                          const std::string& why) {
  const std::string others = Count(table_.workers().size() - 1, "worker");
  if (worker.draining) {
    effects_.notes.push_back(
        {Kind::kWorkerLost, false,
         fmt::format("worker {} left after its drain; {} left", WorkerName(id),
                     others)});
    return;
  }
  effects_.notes.push_back(
      {Kind::kWorkerLost, true,
       fmt::format("lost worker {}: {}; {} to be computed elsewhere; {} left",
                   WorkerName(id), why, Count(worker.leases.size(), "split"),
                   others)});
  if (!lost_.insert_or_assign(id, worker.incarnation).second) return;
  lost_order_.push_back(id);
  if (lost_order_.size() <= kLostWorkersMax) return;
  lost_.erase(lost_order_.front());
  lost_order_.pop_front();
}

void Dispatcher::NoteDrains(const WorkerId& id, const KnownWorker& worker) {
  effects_.notes.push_back(
      {Kind::kWorkerDrains, false,
       fmt::format("worker {} drains: it takes no new splits and has {}",
                   WorkerName(id), Count(worker.leases.size(), "split"))});
}

void Dispatcher::NoteJobBegan(const JobState& job) {
  effects_.notes.push_back({Kind::kJob, false,
                            fmt::format("job '{}' began iteration {}",
                                        job.name.value(), job.iteration)});
}

void Dispatcher::NoteJobEnded(const JobState& job, RunEnding ending) {
  if (job.phase == RunPhase::kFailed) {
    effects_.notes.push_back(
        {Kind::kJob, true,
         fmt::format("job '{}' failed in iteration {}: {}", job.name.value(),
                     job.iteration, ErrorText(job.error))});
    return;
  }
  effects_.notes.push_back(
      {Kind::kJob, false,
       fmt::format("job '{}' ended iteration {}, {}", job.name.value(),
                   job.iteration, EndingText(ending))});
}

void Dispatcher::NoteReaderSilent(const SessionKey& key,
                                  absl::Duration silent) {
  effects_.notes.push_back(
      {Kind::kJob, true,
       fmt::format("reader '{}' of job '{}' was silent for {}: its session "
                   "ended",
                   key.consumer.value(), key.job.value(),
                   SecondsText(silent))});
}

}  // namespace feedmill
