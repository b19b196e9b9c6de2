#ifndef FEEDMILL_TESTS_REFERENCE_COMBINATION_H_
#define FEEDMILL_TESTS_REFERENCE_COMBINATION_H_

#include <cstdint>
#include <vector>

#include "core/dataset/graph.h"

namespace feedmill::reference {

// An element of an input of the source: the position-th of its turn-th reading.
struct Pick {
  size_t input = 0;
  uint64_t turn = 0, position = 0;
};

// The inputs that a mixture's elements come from, one after the other.
class MixtureOrder {
 public:
  explicit MixtureOrder(const MixtureSource& source);
  size_t Next();

 private:
  std::vector<uint64_t> weights_, given_;
  uint64_t sum_ = 0, n_ = 0;
};

inline constexpr uint64_t kNoEnd = UINT64_MAX;

// What a pipeline, or its first `steps` steps, has no end of: a repeat or its
// source.
bool HasNoEnd(const Graph& graph, size_t steps = SIZE_MAX);
bool HasNoEnd(const Source& source);
// Whether an enumerate numbers elements without end, in it or in its inputs.
bool NumbersOn(const Graph& graph);

const std::vector<Graph>* InputsOf(const Source& source);

// What the elements of a source made of inputs are made of, one after the
// other (docs/semantics/combining.md); at most `bound` of them. `sizes`: of the
// inputs, kNoEnd for those without end.
std::vector<std::vector<Pick>> Picks(const Source& source,
                                     const std::vector<uint64_t>& sizes,
                                     size_t bound);

}  // namespace feedmill::reference

#endif  // FEEDMILL_TESTS_REFERENCE_COMBINATION_H_
