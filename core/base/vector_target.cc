#include "core/base/vector_target.h"

#include <atomic>

namespace feedmill {
namespace {

std::atomic<VectorTarget>& Chosen() {
  static std::atomic<VectorTarget> target{BestVectorTarget()};
  return target;
}

}  // namespace

VectorTarget BestVectorTarget() {
#if defined(__x86_64__)
  const bool v3 = __builtin_cpu_supports("avx2") != 0 &&
                  __builtin_cpu_supports("bmi") != 0 &&
                  __builtin_cpu_supports("bmi2") != 0 &&
                  __builtin_cpu_supports("fma") != 0;
  if (!v3) return VectorTarget::kBaseline;
  const bool v4 = __builtin_cpu_supports("avx512f") != 0 &&
                  __builtin_cpu_supports("avx512bw") != 0 &&
                  __builtin_cpu_supports("avx512cd") != 0 &&
                  __builtin_cpu_supports("avx512dq") != 0 &&
                  __builtin_cpu_supports("avx512vl") != 0;
  return v4 ? VectorTarget::kAvx512 : VectorTarget::kAvx2;
#else
  return VectorTarget::kBaseline;
#endif
}

VectorTarget LoopTarget() { return Chosen().load(std::memory_order_relaxed); }

void SetLoopTarget(VectorTarget target) { Chosen() = target; }

}  // namespace feedmill
