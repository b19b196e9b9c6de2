#ifndef FEEDMILL_TESTS_REFERENCE_STREAMS_H_
#define FEEDMILL_TESTS_REFERENCE_STREAMS_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "core/dataset/graph.h"
#include "tests/reference/interpreter.h"

namespace feedmill::reference {

// Whether a source has an input whose elements are not counted.
bool HasStreams(const Source& source);

// What an input makes when a pass begins it for the turn-th time.
using RunInput = std::function<Sequence(size_t input, uint64_t turn)>;

// The elements of one pass of such a source, at most `bound` of them. One
// without components, the last, is one that fails.
std::vector<Element> StreamElements(const Source& source, size_t bound,
                                    const RunInput& run);

}  // namespace feedmill::reference

#endif  // FEEDMILL_TESTS_REFERENCE_STREAMS_H_
