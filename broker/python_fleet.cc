#include "broker/python_fleet.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "broker/fleet_use.h"
#include "core/base/status.h"

namespace feedmill {
namespace {

constexpr size_t kWorkersNamedMax = 5;  // workers in an error

}  // namespace

bool PythonFleet::Take(const WorkerBeat& beat, KnownWorker& worker) {
  worker.allows_python = beat.allows_python;
  if (!beat.python.has_value() || worker.python != nullptr) return false;
  if (last_ == nullptr || *last_ != *beat.python) {
    last_ = std::make_shared<const PythonInterpreter>(*beat.python);
  }
  worker.python = last_;
  return true;
}

bool PythonFleet::SomeCanRun(const PythonNeedsPtr& needs) const {
  const auto& workers = context_.leases.workers();
  return std::any_of(workers.begin(), workers.end(), [&](const auto& entry) {
    return LeaseTable::CanRun(entry.second, needs);
  });
}

absl::Status PythonFleet::WhyNoneRuns(absl::Time now,
                                      const PythonNeedsPtr& needs) const {
  if (needs == nullptr || now < begin_ ||
      now < last_join_ + context_.settings.python_grace) {
    return absl::OkStatus();
  }
  std::vector<std::string> texts;
  size_t count = 0;
  for (const auto& [id, worker] : context_.leases.workers()) {
    // One that is set aside works again if a job needs it.
    if (worker.draining && !worker.set_aside) continue;
    const bool unknown = worker.allows_python && worker.python == nullptr;
    if (unknown || LeaseTable::CanRun(worker, needs)) return absl::OkStatus();
    if (++count > kWorkersNamedMax) continue;
    texts.push_back(fmt::format("worker {} {}", WorkerName(id),
                                WhyUnfit(needs, worker.python.get())));
  }
  if (count == 0) return absl::OkStatus();
  if (count > kWorkersNamedMax) {
    texts.push_back(fmt::format("{} other workers cannot, either",
                                count - kWorkersNamedMax));
  }
  return FailedPrecondition(
      "no worker can run the Python functions, which were made with {}: {}; "
      "give a worker the same versions, or make the pipeline with a worker's",
      NeedsText(needs), absl::StrJoin(texts, "; "));
}

}  // namespace feedmill
