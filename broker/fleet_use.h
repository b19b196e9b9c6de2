#ifndef FEEDMILL_BROKER_FLEET_USE_H_
#define FEEDMILL_BROKER_FLEET_USE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "broker/lease_table.h"
#include "broker/verdict.h"
#include "core/wire/message.h"

namespace feedmill {

// Returns the worker's address, without the key that a WorkerId may hold.
std::string WorkerName(const WorkerId& worker);

// The load of all workers at one time. It is computed once for the verdicts of
// all jobs.
struct FleetUse {
  static FleetUse Of(const LeaseTable& table, absl::Time now);

  // Returns the speeds of workers, by name, relative to the median of their
  // plan. A worker with several plans has the lowest of these values. A
  // worker may have had no split of a small plan. Therefore two kinds of plans
  // do not count: those whose typical worker sends elements now and then, and
  // those that are less than a tenth of the worker's work.
  std::map<std::string, double> RelativeSpeeds() const;
  // Returns the workers as the verdict of a job sees them: those with work of
  // its plans, then one entry for all others.
  std::vector<VerdictInput::Worker> WorkersFor(
      const std::vector<PlanId>& plans) const;

  std::vector<VerdictInput::Worker> WorkersOf(
      const std::vector<PlanId>& plans) const;

  std::map<PlanId, std::vector<VerdictInput::Worker>> by_plan;
  uint64_t count = 0;  // workers that do not drain
  double threads = 0;  // threads of these workers
  double busy = 0;     // threads of these workers that have work
};

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_FLEET_USE_H_
