#include "core/plan/plan_id.h"

#define XXH_INLINE_ALL
#include <fmt/format.h>
#include <xxhash.h>

namespace feedmill {
namespace {

constexpr std::string_view kSequence = "-sequence";

}  // namespace

std::string PlanIdOf(std::string_view fingerprint,
                     std::string_view manifest_hash, uint64_t seed,
                     uint64_t iteration) {
  const std::string text =
      fmt::format("{}\n{}\n{}\n{}\n{}", kPlanVersion, fingerprint,
                  manifest_hash, seed, iteration);
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::string SequencePlanId(const std::string& plan) {
  return plan + std::string(kSequence);
}

std::string PipelinePlanId(const std::string& plan) {
  if (!plan.ends_with(kSequence)) return plan;
  return plan.substr(0, plan.size() - kSequence.size());
}

}  // namespace feedmill
