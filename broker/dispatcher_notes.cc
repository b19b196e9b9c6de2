#include "broker/dispatcher.h"
#include "core/base/status.h"

// Lines of the dispatcher's log about workers and jobs.

namespace feedmill {
namespace {

using Kind = NoteKind;

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
                   Count(table_.workers().size(), "worker")),
       "", WorkerName(beat.worker)});
}

void Dispatcher::NoteLost(const WorkerId& id, const KnownWorker& worker,
                          const std::string& why) {
  const std::string others = Count(table_.workers().size() - 1, "worker");
  if (worker.draining) {
    effects_.notes.push_back(
        {Kind::kWorkerLost, false,
         fmt::format("worker {} left after its drain; {} left", WorkerName(id),
                     others),
         "", WorkerName(id)});
    return;
  }
  effects_.notes.push_back(
      {Kind::kWorkerLost, true,
       fmt::format("lost worker {}: {}; {} to be computed elsewhere; {} left",
                   WorkerName(id), why, Count(worker.leases.size(), "split"),
                   others),
       "", WorkerName(id)});
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
                   WorkerName(id), Count(worker.leases.size(), "split")),
       "", WorkerName(id)});
}

void Dispatcher::NoteJobBegan(const JobState& job) {
  effects_.notes.push_back({Kind::kJob, false,
                            fmt::format("job '{}' began iteration {}",
                                        job.name.value(), job.iteration),
                            job.name.value()});
}

void Dispatcher::NoteJobEnded(const JobState& job, RunEnding ending) {
  if (job.phase == RunPhase::kFailed && absl::IsCancelled(job.error)) {
    effects_.notes.push_back(
        {Kind::kOperator, false,
         fmt::format("an operator cancelled job '{}' in iteration {}",
                     job.name.value(), job.iteration),
         job.name.value()});
    return;
  }
  if (job.phase == RunPhase::kFailed) {
    effects_.notes.push_back(
        {Kind::kJob, true,
         fmt::format("job '{}' failed in iteration {}: {}", job.name.value(),
                     job.iteration, ErrorText(job.error)),
         job.name.value()});
    return;
  }
  effects_.notes.push_back(
      {Kind::kJob, false,
       fmt::format("job '{}' ended iteration {}, {}", job.name.value(),
                   job.iteration, EndingText(ending)),
       job.name.value()});
}

void Dispatcher::NoteReaderSilent(const SessionKey& key,
                                  absl::Duration silent) {
  effects_.notes.push_back(
      {Kind::kJob, true,
       fmt::format("reader '{}' of job '{}' was silent for {}: its session "
                   "ended",
                   key.consumer.value(), key.job.value(), SecondsText(silent)),
       key.job.value()});
}

void Dispatcher::NoteReader(const JobName& job, std::string text) {
  effects_.notes.push_back({.kind = Kind::kReader,
                            .warning = true,
                            .text = std::move(text),
                            .job = job.value(),
                            .logged = false});
}

void Dispatcher::NoteAttempt(const WorkerId& worker,
                             const LeaseFailure& failure, bool last) {
  const SplitState* split = state_.FindSplit(failure.split);
  if (split == nullptr) return;
  const std::string& job = split->owner.job.value();
  effects_.notes.push_back(
      {.kind = Kind::kAttempt,
       .warning = true,
       .text =
           fmt::format("worker {} failed at position {} of job '{}'{}: {}",
                       WorkerName(worker), split->taken.p, job,
                       last ? ", which was tried as often as it may be" : "",
                       failure.status.ok() ? "it gave no reason"
                                           : ErrorText(failure.status)),
       .job = job,
       .worker = WorkerName(worker),
       .logged = false});
}

void Dispatcher::NoteRetry(const SessionKey& key, const WorkerId& slow,
                           absl::Duration stood) {
  effects_.notes.push_back(
      {.kind = Kind::kRetry,
       .text = fmt::format(
           "worker {} brought reader '{}' of job '{}' nothing for {}: another "
           "worker computes the split, too",
           WorkerName(slow), key.consumer.value(), key.job.value(),
           SecondsText(stood)),
       .job = key.job.value(),
       .worker = WorkerName(slow),
       .logged = false});
}

void Dispatcher::NoteSkipped(const JobName& job, uint64_t elements,
                             uint64_t all) {
  effects_.notes.push_back(
      {.kind = Kind::kSkipped,
       .warning = true,
       .text = fmt::format("job '{}' left out {} (on_error), {} so far",
                           job.value(), Count(elements, "element"), all),
       .job = job.value(),
       .logged = false});
}

// Records the notes of a call as events, and keeps only the notes for the log.
void Dispatcher::KeepEvents(absl::Time now) {
  for (const DispatcherNote& note : effects_.notes) {
    events_.Add(now, {.kind = note.kind,
                      .warning = note.warning,
                      .text = note.text,
                      .job = note.job,
                      .worker = note.worker});
  }
  std::erase_if(effects_.notes,
                [](const DispatcherNote& note) { return !note.logged; });
}

}  // namespace feedmill
