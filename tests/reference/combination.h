#ifndef FEEDMILL_TESTS_REFERENCE_COMBINATION_H_
#define FEEDMILL_TESTS_REFERENCE_COMBINATION_H_

#include <cstdint>
#include <vector>

#include "core/dataset/graph.h"

namespace feedmill::reference {

// An element of an input of the source: the position-th element of the input's
// turn-th reading.
struct Pick {
  size_t input = 0;
  uint64_t turn = 0, position = 0;
};

// The sequence of inputs from which a mixture takes its elements.
class MixtureOrder {
 public:
  explicit MixtureOrder(const MixtureSource& source);
  size_t Next();
  // The first of the inputs with the least size for their weights.
  size_t LeastFor(const std::vector<uint64_t>& sizes) const;
  // True if other weights hold after this many elements, or sizes; counts begin
  // again then.
  bool Changes(uint64_t all);

 private:
  void SetWeights();

  std::vector<std::vector<uint64_t>> phases_;
  std::vector<uint64_t> changes_, weights_, given_;
  uint64_t sum_ = 0, n_ = 0;
  size_t phase_ = 0;
};

inline constexpr uint64_t kNoEnd = UINT64_MAX;

// True if a pipeline, or its first `steps` steps, is infinite: a repeat or its
// source.
bool HasNoEnd(const Graph& graph, size_t steps = SIZE_MAX);
bool HasNoEnd(const Source& source);
// True if an enumerate numbers infinitely many elements, in the pipeline or in
// its inputs.
bool NumbersOn(const Graph& graph);

const std::vector<Graph>* InputsOf(const Source& source);

// Returns the input elements of each element of a combining source, in order
// (docs/semantics/combining.md); at most `bound` of them. `sizes`: lengths of
// the inputs, kNoEnd for infinite ones.
std::vector<std::vector<Pick>> Picks(const Source& source,
                                     const std::vector<uint64_t>& sizes,
                                     size_t bound);

}  // namespace feedmill::reference

#endif  // FEEDMILL_TESTS_REFERENCE_COMBINATION_H_
