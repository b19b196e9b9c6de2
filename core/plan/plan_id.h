#ifndef FEEDMILL_CORE_PLAN_PLAN_ID_H_
#define FEEDMILL_CORE_PLAN_PLAN_ID_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace feedmill {

// The version of docs/semantics/random.md and of what else decides the order of
// elements. A change is a change of tokens, of journals and of the protocol,
// too: what was begun in one order must not go on in another.
inline constexpr uint32_t kPlanVersion = 2;

// The name of an iteration's plan, 32 hex digits: equal where plan version,
// pipeline (Fingerprint), files (Manifest::Hash, "" without), seed and
// iteration are.
std::string PlanIdOf(std::string_view fingerprint,
                     std::string_view manifest_hash, uint64_t seed,
                     uint64_t iteration);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PLAN_PLAN_ID_H_
