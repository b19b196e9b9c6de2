#ifndef FEEDMILL_WORKER_WORKER_STATUS_H_
#define FEEDMILL_WORKER_WORKER_STATUS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/wire/message.h"

namespace feedmill {

// Data for a worker's metrics.
struct WorkerStatus {
  std::string target;      // "tcp://host:port"
  std::string dispatcher;  // its dispatcher's address
  bool registered = false;
  bool draining = false;
  uint64_t leases = 0;
  uint64_t memory_clients = 0;  // clients that share its memory
  // Counters since the start; step costs are of measured tasks.
  WorkerLoad load;
  // Names of the places of each plan, by StepCost::place.
  std::map<PlanId, std::vector<std::string>> places{};
};

}  // namespace feedmill

#endif  // FEEDMILL_WORKER_WORKER_STATUS_H_
