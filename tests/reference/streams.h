#ifndef FEEDMILL_TESTS_REFERENCE_STREAMS_H_
#define FEEDMILL_TESTS_REFERENCE_STREAMS_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "core/dataset/graph.h"
#include "tests/reference/interpreter.h"

namespace feedmill::reference {

// Replaces a skipped element in an input's output. `takes_turn` true: it failed
// and an on_error of the whole pipeline skips it. False: an on_error of the
// input skipped it.
Element LeftOut(bool takes_turn);
bool IsLeftOut(const Element& element);
// an element, or a skipped one with a turn
bool TakesTurn(const Element& element);

// True if a source has an input whose elements are not counted.
bool HasStreams(const Source& source);

// Runs an input for the turn-th time in a pass.
using RunInput = std::function<Sequence(size_t input, uint64_t turn)>;

// Returns the elements of one pass of such a source, at most `bound`, including
// skipped ones. If the last element has no components, it failed.
std::vector<Element> StreamElements(const Source& source, size_t bound,
                                    const RunInput& run);

}  // namespace feedmill::reference

#endif  // FEEDMILL_TESTS_REFERENCE_STREAMS_H_
