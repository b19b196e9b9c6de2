#ifndef FEEDMILL_BROKER_MANIFEST_REQUESTS_H_
#define FEEDMILL_BROKER_MANIFEST_REQUESTS_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "broker/dispatcher_context.h"
#include "broker/dispatcher_state.h"
#include "core/dataset/python_versions.h"
#include "core/wire/message.h"

namespace feedmill {

// Graphs whose files a worker lists, and the jobs that wait for the manifest.
// Pure.
class ManifestRequests {
 public:
  // The references must outlive this object.
  explicit ManifestRequests(DispatcherContext& context) : context_(context) {}

  bool empty() const { return requests_.empty(); }

  // Adds and removes a job that waits for its manifest.
  void Await(const JobState& job);
  void Stop(const JobState& job);
  // Assigns each graph without a manifest to one worker, which lists its files:
  // the worker with the fewest such requests, among those that can run the
  // graph's Python functions.
  void Assign();
  // The worker is lost: its graphs are assigned again at the next Assign.
  void Unassign(const KnownWorker& worker);

  // Returns the jobs that wait for the graph's manifest. Empty if none waits.
  std::set<JobName> JobsOf(const std::string& fingerprint) const;
  // REQUIRES: a job waits for the graph's manifest.
  const std::string& GraphOf(const std::string& fingerprint) const {
    return requests_.at(fingerprint).graph;
  }
  // Returns what the graph's Python functions need; null if no job waits for
  // its manifest, or if it has none.
  PythonNeedsPtr PythonNeedsOf(const std::string& fingerprint) const;
  // Graphs that no worker lists: what their Python functions need, and the jobs
  // that wait. Ordered by fingerprint.
  std::vector<std::pair<PythonNeedsPtr, std::set<JobName>>> Unassigned() const;
  // Returns the worker that lists the graph's files; null if there is none.
  const WorkerId* WorkerOf(const std::string& fingerprint) const;

 private:
  struct Request {
    std::string graph;
    PythonNeedsPtr python_needs;
    std::optional<WorkerId> worker;
    std::set<JobName> jobs;
  };

  DispatcherContext& context_;
  std::map<std::string, Request> requests_;  // by fingerprint
};

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_MANIFEST_REQUESTS_H_
