#ifndef FEEDMILL_CORE_BASE_VECTOR_TARGET_H_
#define FEEDMILL_CORE_BASE_VECTOR_TARGET_H_

namespace feedmill {

// Instruction sets of vectorised loops. Results are the same to the bit.
enum class VectorTarget { kBaseline, kAvx2, kAvx512 };
// Returns the best instruction set of this processor.
VectorTarget BestVectorTarget();
// LoopTarget returns the instruction set of loops that begin from now on. The
// default is BestVectorTarget(). Tests set it to compare the loops. REQUIRES:
// this processor has `target`.
VectorTarget LoopTarget();
void SetLoopTarget(VectorTarget target);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_BASE_VECTOR_TARGET_H_
