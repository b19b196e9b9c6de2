#ifndef FEEDMILL_CORE_PLAN_PLAN_ID_H_
#define FEEDMILL_CORE_PLAN_PLAN_ID_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace feedmill {

// Version of docs/semantics/random.md and of everything else that decides the
// order of elements. A change also invalidates tokens and journals, and changes
// the protocol, because a run must not continue in another order.
inline constexpr uint32_t kPlanVersion = 2;

// Returns the name of an iteration's plan, 32 hex digits. Two names are equal
// if the plan version, pipeline (Fingerprint), files (Manifest::Hash, ""
// without files), seed and iteration are.
std::string PlanIdOf(std::string_view fingerprint,
                     std::string_view manifest_hash, uint64_t seed,
                     uint64_t iteration);

// Returns the id of the plan of a sequenced run
// (core/operators/sequenced_graph.h), given the id of its pipeline's plan.
// PipelinePlanId returns that one again, and any other id as it is.
std::string SequencePlanId(const std::string& plan);
std::string PipelinePlanId(const std::string& plan);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PLAN_PLAN_ID_H_
