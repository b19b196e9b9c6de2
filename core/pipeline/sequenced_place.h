#ifndef FEEDMILL_CORE_PIPELINE_SEQUENCED_PLACE_H_
#define FEEDMILL_CORE_PIPELINE_SEQUENCED_PLACE_H_

#include <cstdint>

#include "core/chunk/generator_state.h"
#include "core/pipeline/read_place.h"

namespace feedmill {

// Places of readers of sequenced runs (core/operators/sequenced_graph.h). Such
// a reader's cursor is {0, n} before element n. A state leads to it that a
// worker made (StreamPlace). Tokens name the same place as one of the pipeline,
// so a token continues with or without a sequenced run.

// Returns the state that leads to element place.elements; null if it would be
// too large. Without it, elements are made again from the first one.
GeneratorStatePtr SequencedState(const ReadPlace& place);
// Returns the place before element `number`. `state`: leads to {0, number}, or
// null.
ReadPlace PlaceFromState(uint64_t number, const GeneratorStatePtr& state);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_SEQUENCED_PLACE_H_
