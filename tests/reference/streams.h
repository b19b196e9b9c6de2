#ifndef FEEDMILL_TESTS_REFERENCE_STREAMS_H_
#define FEEDMILL_TESTS_REFERENCE_STREAMS_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "core/dataset/graph.h"
#include "tests/reference/interpreter.h"

namespace feedmill::reference {

// In what an input makes, in place of an element: it could not be made, and an
// on_error of the whole leaves it out (it takes its turn), or one of the input
// did.
Element LeftOut(bool takes_turn);
bool IsLeftOut(const Element& element);
bool TakesTurn(const Element& element);  // an element, or one that does

// Whether a source has an input whose elements are not counted.
bool HasStreams(const Source& source);

// What an input makes when a pass begins it for the turn-th time.
using RunInput = std::function<Sequence(size_t input, uint64_t turn)>;

// The elements of one pass of such a source, at most `bound` of them, and
// those that are left out among them. One without components, the last, is one
// that fails.
std::vector<Element> StreamElements(const Source& source, size_t bound,
                                    const RunInput& run);

}  // namespace feedmill::reference

#endif  // FEEDMILL_TESTS_REFERENCE_STREAMS_H_
