#ifndef FEEDMILL_CORE_PLAN_PLAN_ID_H_
#define FEEDMILL_CORE_PLAN_PLAN_ID_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace feedmill {

// The name of an iteration's plan, 32 hex digits: equal where pipeline
// (Fingerprint), files (Manifest::Hash, "" without), seed and iteration are.
std::string PlanIdOf(std::string_view fingerprint,
                     std::string_view manifest_hash, uint64_t seed,
                     uint64_t iteration);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PLAN_PLAN_ID_H_
