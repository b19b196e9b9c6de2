#ifndef FEEDMILL_CORE_BASE_VECTOR_TARGET_H_
#define FEEDMILL_CORE_BASE_VECTOR_TARGET_H_

namespace feedmill {

// The instructions that loops may use; all give the same bits.
enum class VectorTarget { kBaseline, kAvx2, kAvx512 };
// The best that this processor has.
VectorTarget BestVectorTarget();
// What loops asked for from now on are made of: the best, if nothing was set.
// For tests that compare them. REQUIRES: this processor has it.
VectorTarget LoopTarget();
void SetLoopTarget(VectorTarget target);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_BASE_VECTOR_TARGET_H_
