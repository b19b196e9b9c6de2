#include "broker/manifest_requests.h"

#include <cstddef>

namespace feedmill {

void ManifestRequests::Await(const JobState& job) {
  Request& request = requests_[job.fingerprint];
  request.graph = job.graph;
  if (context_.planner.python_needs) {
    request.python_needs = context_.planner.python_needs(job.graph);
  }
  request.jobs.insert(job.name);
}

void ManifestRequests::Stop(const JobState& job) {
  const auto it = requests_.find(job.fingerprint);
  if (it == requests_.end()) return;
  it->second.jobs.erase(job.name);
  if (!it->second.jobs.empty()) return;
  if (it->second.worker.has_value()) {
    KnownWorker* worker = context_.leases.FindWorker(*it->second.worker);
    worker->resolving.erase(job.fingerprint);
    context_.outbox.AnswerWorker(*it->second.worker, worker);
  }
  requests_.erase(it);
}

void ManifestRequests::Assign() {
  for (auto& [fingerprint, request] : requests_) {
    if (request.worker.has_value()) continue;
    const WorkerId* least = nullptr;
    size_t fewest = 0;
    for (const auto& [id, worker] : context_.leases.workers()) {
      if (worker.draining) continue;
      if (!LeaseTable::CanRun(worker, request.python_needs)) continue;
      if (least != nullptr && worker.resolving.size() >= fewest) continue;
      least = &id;
      fewest = worker.resolving.size();
    }
    if (least == nullptr) continue;
    request.worker = *least;
    KnownWorker* const worker = context_.leases.FindWorker(*least);
    worker->resolving.insert(fingerprint);
    context_.outbox.AnswerWorker(*least, worker);
  }
}

void ManifestRequests::Unassign(const KnownWorker& worker) {
  for (const std::string& fingerprint : worker.resolving) {
    requests_.at(fingerprint).worker.reset();
  }
}

std::set<JobName> ManifestRequests::JobsOf(
    const std::string& fingerprint) const {
  const auto it = requests_.find(fingerprint);
  return it == requests_.end() ? std::set<JobName>() : it->second.jobs;
}

PythonNeedsPtr ManifestRequests::PythonNeedsOf(
    const std::string& fingerprint) const {
  const auto it = requests_.find(fingerprint);
  return it == requests_.end() ? nullptr : it->second.python_needs;
}

std::vector<std::pair<PythonNeedsPtr, std::set<JobName>>>
ManifestRequests::Unassigned() const {
  std::vector<std::pair<PythonNeedsPtr, std::set<JobName>>> unassigned;
  for (const auto& [fingerprint, request] : requests_) {
    if (request.worker.has_value()) continue;
    unassigned.emplace_back(request.python_needs, request.jobs);
  }
  return unassigned;
}

const WorkerId* ManifestRequests::WorkerOf(
    const std::string& fingerprint) const {
  const auto it = requests_.find(fingerprint);
  if (it == requests_.end() || !it->second.worker.has_value()) return nullptr;
  return &*it->second.worker;
}

}  // namespace feedmill
