#ifndef FEEDMILL_TESTS_CONFORMANCE_MOVED_INPUTS_H_
#define FEEDMILL_TESTS_CONFORMANCE_MOVED_INPUTS_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "core/dataset/function_registry.h"
#include "core/dataset/graph.h"
#include "core/pipeline/piece_source.h"
#include "core/pipeline/sequence_reader.h"

namespace feedmill::testing {

// A pipeline whose inputs of streamed sources are all read from an InputService
// of this process, whose pieces pass through frames. It fails now and then.
struct MovedInputs {
  std::unique_ptr<SequenceReader> sequence;
  std::unique_ptr<PieceSource> source;
};
absl::StatusOr<MovedInputs> OpenWithMovedInputs(
    const Graph& graph, const std::shared_ptr<const FunctionRegistry>& registry,
    size_t piece_bytes);

}  // namespace feedmill::testing

#endif  // FEEDMILL_TESTS_CONFORMANCE_MOVED_INPUTS_H_
