#include "broker/dispatcher.h"
#include "core/base/status.h"

// Operator requests that change the dispatcher's work.

namespace feedmill {

Dispatcher::OperatorAnswer Dispatcher::DrainWorker(absl::Time now,
                                                   const std::string& address,
                                                   bool drains) {
  if (!behind_.ok()) return {behind_, {}};
  const WorkerId* id = nullptr;
  for (const auto& [each, worker] : table_.workers()) {
    if (each.value() == address || WorkerName(each) == address) id = &each;
  }
  if (id == nullptr) return {NotFound("there is no worker '{}'", address), {}};
  const WorkerId name = *id;
  KnownWorker& worker = *table_.FindWorker(name);
  if (worker.drain_asked == drains) return {absl::OkStatus(), {}};
  if (worker.draining && drains) {
    return {FailedPrecondition("worker '{}' drains already", address), {}};
  }
  worker.drain_asked = drains;
  table_.SetCapacity(name, worker.slots, drains);
  effects_.notes.push_back(
      {.kind = NoteKind::kOperator,
       .text = drains
                   ? fmt::format("an operator drains worker {}: it gets no new "
                                 "splits",
                                 WorkerName(name))
                   : fmt::format("an operator lets worker {} work again",
                                 WorkerName(name)),
       .worker = WorkerName(name)});
  dirty_workers_.insert_or_assign(name, &worker);
  GrowRuns();
  AssignResolutions();
  BindAll(now);
  return {absl::OkStatus(), Finish(now)};
}

Dispatcher::OperatorAnswer Dispatcher::CancelJob(absl::Time now,
                                                 const JobName& name) {
  if (!behind_.ok()) return {behind_, {}};
  const JobState* job = state_.FindJob(name);
  if (job == nullptr) {
    return {NotFound("there is no job '{}'", name.value()), {}};
  }
  if (job->over()) {
    return {FailedPrecondition("job '{}' is over", name.value()), {}};
  }
  FailRun(name, Cancelled("an operator cancelled job '{}'", name.value()));
  return {absl::OkStatus(), Finish(now)};
}

}  // namespace feedmill
