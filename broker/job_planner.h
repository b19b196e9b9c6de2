#ifndef FEEDMILL_BROKER_JOB_PLANNER_H_
#define FEEDMILL_BROKER_JOB_PLANNER_H_

#include <memory>

#include "broker/dispatcher.h"
#include "core/dataset/function_registry.h"

namespace feedmill {

// The Planner of real graphs: reads canonical texts, checks them with the
// functions of `registry` and computes the plan's size. Pure; bad texts and
// manifests are errors.
Planner MakePlanner(const std::shared_ptr<const FunctionRegistry>& registry);

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_JOB_PLANNER_H_
