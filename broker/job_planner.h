#ifndef FEEDMILL_BROKER_JOB_PLANNER_H_
#define FEEDMILL_BROKER_JOB_PLANNER_H_

#include <memory>

#include "broker/planner.h"
#include "core/dataset/function_registry.h"

namespace feedmill {

// Returns the Planner of real graphs. It reads canonical texts, checks them
// with the functions of `registry` and computes the plan's size. Pure. Bad
// texts and bad manifests are errors.
Planner MakePlanner(const std::shared_ptr<const FunctionRegistry>& registry);

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_JOB_PLANNER_H_
