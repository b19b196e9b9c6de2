#include "broker/operator_log.h"

#include <utility>

#include "broker/fleet_use.h"
#include "core/base/status.h"

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

// ---- workers

void OperatorLog::WorkerJoined(const WorkerBeat& beat, size_t workers) {
  const auto lost = lost_.find(beat.worker);
  const char* how = "joined";
  if (lost != lost_.end()) {
    how = lost->second == beat.incarnation ? "is back"
                                           : "is back as another process";
    lost_.erase(lost);
  }
  notes_.push_back(
      {Kind::kWorkerJoined, false,
       fmt::format("worker {} {} with {}; {}", WorkerName(beat.worker), how,
                   Count(beat.slots, "slot"), Count(workers, "worker")),
       "", WorkerName(beat.worker)});
}

void OperatorLog::WorkerLost(const WorkerId& id, const KnownWorker& worker,
                             bool died, const std::string& why,
                             size_t workers) {
  const std::string others = Count(workers - 1, "worker");
  faults_.workers_died += died ? 1 : 0;
  if (worker.draining) {
    notes_.push_back({Kind::kWorkerLost, false,
                      fmt::format("worker {} left after its drain; {} left",
                                  WorkerName(id), others),
                      "", WorkerName(id)});
    return;
  }
  ++faults_.workers_lost;
  notes_.push_back(
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

void OperatorLog::WorkerDrains(const WorkerId& id, const KnownWorker& worker) {
  notes_.push_back(
      {Kind::kWorkerDrains, false,
       fmt::format("worker {} drains: it takes no new splits and has {}",
                   WorkerName(id), Count(worker.leases.size(), "split")),
       "", WorkerName(id)});
}

void OperatorLog::WorkerSetAside(const WorkerId& id,
                                 const KnownWorker& worker) {
  ++faults_.workers_set_aside;
  notes_.push_back(
      {.kind = Kind::kAside,
       .warning = true,
       .text = fmt::format(
           "worker {} is set aside: {} splits failed on it that other workers "
           "computed, the last with: {}; it gets no new splits until it is "
           "restarted, an operator lets it work again, or no other worker can "
           "do its work",
           WorkerName(id), worker.faults, worker.failure),
       .worker = WorkerName(id)});
}

void OperatorLog::WorkerWorksAgain(const WorkerId& id) {
  notes_.push_back(
      {.kind = Kind::kAside,
       .warning = true,
       .text = fmt::format("worker {} is no longer set aside: no other worker "
                           "can do its work",
                           WorkerName(id)),
       .worker = WorkerName(id)});
}

void OperatorLog::CachesFailed(const WorkerId& id, uint64_t count,
                               const std::string& first) {
  faults_.cache_write_failures += count;
  notes_.push_back({.kind = Kind::kCache,
                    .warning = true,
                    .text = fmt::format(
                        "worker {} cannot write {}, and makes their elements "
                        "again in each pass; the first: {}",
                        WorkerName(id), Count(count, "cache"), first),
                    .worker = WorkerName(id)});
}

void OperatorLog::OperatorDrains(const WorkerId& id, bool drains) {
  notes_.push_back(
      {.kind = Kind::kOperator,
       .text = drains
                   ? fmt::format("an operator drains worker {}: it gets no new "
                                 "splits",
                                 WorkerName(id))
                   : fmt::format("an operator lets worker {} work again",
                                 WorkerName(id)),
       .worker = WorkerName(id)});
}

void OperatorLog::ScaleChanged(std::string text) {
  notes_.push_back({Kind::kScale, false, std::move(text)});
}

void OperatorLog::JournalWasSlow(absl::Duration took) {
  notes_.push_back(
      {.kind = Kind::kJournal,
       .warning = true,
       .text = fmt::format(
           "writing the journal took {}, and answers to readers and workers "
           "waited for it: the disk of --work-dir is slow or busy, so give the "
           "journal a disk of its own",
           SecondsText(took))});
}

// ---- jobs

void OperatorLog::JobBegan(const JobState& job) {
  notes_.push_back({Kind::kJob, false,
                    fmt::format("job '{}' began iteration {}", job.name.value(),
                                job.iteration),
                    job.name.value()});
}

void OperatorLog::JobEnded(const JobState& job) {
  if (job.phase == RunPhase::kFailed && absl::IsCancelled(job.error)) {
    notes_.push_back(
        {Kind::kOperator, false,
         fmt::format("an operator cancelled job '{}' in iteration {}",
                     job.name.value(), job.iteration),
         job.name.value()});
    return;
  }
  if (job.phase == RunPhase::kFailed) {
    ++faults_.jobs_failed;
    notes_.push_back(
        {Kind::kJob, true,
         fmt::format("job '{}' failed in iteration {}: {}", job.name.value(),
                     job.iteration, ErrorText(job.error)),
         job.name.value()});
    return;
  }
  notes_.push_back(
      {Kind::kJob, false,
       fmt::format("job '{}' ended iteration {}, {}", job.name.value(),
                   job.iteration, EndingText(job.ending)),
       job.name.value()});
}

void OperatorLog::ElementsSkipped(const JobName& job, uint64_t elements,
                                  uint64_t all,
                                  std::vector<std::string> records) {
  notes_.push_back(
      {.kind = Kind::kSkipped,
       .warning = true,
       .text = fmt::format("job '{}' left out {} (on_error), {} so far",
                           job.value(), Count(elements, "element"), all),
       .job = job.value(),
       .records = std::move(records),
       .logged = false});
}

void OperatorLog::PositionSkipped(const JobName& job, std::string_view position,
                                  std::string why) {
  notes_.push_back({.kind = Kind::kSkipped,
                    .warning = true,
                    .text = fmt::format("job '{}' leaves out {} (on_error)",
                                        job.value(), position),
                    .job = job.value(),
                    .records = {std::move(why)},
                    .logged = false});
}

// ---- readers

void OperatorLog::SessionReleased(const SessionKey& key,
                                  absl::Duration silent) {
  ++faults_.sessions_released;
  notes_.push_back(
      {Kind::kJob, true,
       fmt::format("reader '{}' of job '{}' was silent for {}: its session "
                   "ended",
                   key.consumer.value(), key.job.value(), SecondsText(silent)),
       key.job.value()});
}

void OperatorLog::SessionRefused(const ClientHello& hello,
                                 const absl::Status& why) {
  ++faults_.sessions_refused;
  ReaderNote(hello.job, fmt::format("reader '{}' of job '{}' was refused: {}",
                                    hello.session.consumer.value(),
                                    hello.job.value(), ErrorText(why)));
}

void OperatorLog::SessionFenced(const JobName& job, const Session& session,
                                const absl::Status& why) {
  ++faults_.sessions_fenced;
  ReaderNote(job, fmt::format("reader '{}' of job '{}' was fenced{}{}",
                              session.consumer.value(), job.value(),
                              why.ok() ? "" : ": ", ErrorText(why)));
}

void OperatorLog::WorkerUnreachable(const SessionKey& key,
                                    const WorkerId& worker) {
  notes_.push_back(
      {.kind = Kind::kReader,
       .warning = true,
       .text = fmt::format(
           "reader '{}' of job '{}' cannot reach worker {}: check the worker's "
           "--advertise, or read with --via dispatcher",
           key.consumer.value(), key.job.value(), WorkerName(worker)),
       .job = key.job.value(),
       .worker = WorkerName(worker)});
}

void OperatorLog::ReaderNote(const JobName& job, std::string text) {
  notes_.push_back({.kind = Kind::kReader,
                    .warning = true,
                    .text = std::move(text),
                    .job = job.value(),
                    .logged = false});
}

// ---- attempts

void OperatorLog::AttemptFailed(const WorkerId& worker,
                                const LeaseFailure& failure,
                                const SplitState* split, bool last) {
  ++faults_.leases_failed;
  if (split == nullptr) return;
  const std::string& job = split->owner.job.value();
  notes_.push_back(
      {.kind = Kind::kAttempt,
       .warning = true,
       .text = fmt::format(
           "worker {} failed at position {} (split {}) of job "
           "'{}'{}: {}",
           WorkerName(worker), split->taken.p, failure.split.number, job,
           last ? ", which was tried as often as it may be" : "",
           failure.status.ok() ? "it gave no reason"
                               : ErrorText(failure.status)),
       .job = job,
       .worker = WorkerName(worker),
       .logged = false});
}

void OperatorLog::SecondAttempt(const SessionKey& key, const WorkerId& slow,
                                absl::Duration stood) {
  ++faults_.second_attempts;
  notes_.push_back(
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

std::vector<DispatcherNote> OperatorLog::TakeNotes(absl::Time now) {
  for (const DispatcherNote& note : notes_) {
    events_.Add(now, {.kind = note.kind,
                      .warning = note.warning,
                      .text = HideUrlSecrets(note.text),
                      .job = note.job,
                      .worker = note.worker,
                      .records = note.records});
  }
  std::erase_if(notes_,
                [](const DispatcherNote& note) { return !note.logged; });
  return std::exchange(notes_, {});
}

}  // namespace feedmill
