#ifndef FEEDMILL_CORE_PIPELINE_LOCAL_SEQUENCE_H_
#define FEEDMILL_CORE_PIPELINE_LOCAL_SEQUENCE_H_

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "core/dataset/function_registry.h"
#include "core/dataset/graph.h"
#include "core/pipeline/piece_maker.h"
#include "core/pipeline/read_place.h"
#include "core/pipeline/read_profile.h"
#include "core/pipeline/sequence_reader.h"
#include "core/pipeline/skip_count.h"

namespace feedmill {

// A place in a sequence, as a token describes it.
struct LocalResume {
  uint64_t seed = 0;
  uint64_t iteration = 0;
  ReadPlace place;
};

struct LocalSequenceOptions {
  // Threads that make elements; 0: AvailableCpus(). PieceMaker says when the
  // reading thread takes the place of one of them.
  int threads = 0;
  // Bytes of elements that are made ahead of the reader; 0: ElementMemory
  // (process_quota.h).
  size_t memory_bytes = 0;
  // Bytes after which a chunk ends.
  size_t piece_bytes = size_t{512} << 10;
  // Largest component of an element. A larger one is an error of its element:
  // ResourceExhausted, which names the step. 0: ElementBytesMax
  // (process_quota.h).
  uint64_t element_bytes_max = 0;
  // Elements to hand out, see ReadRules.
  Share share{};
  std::vector<NumberRange> skips{};
  // Place to continue from. Absent: the beginning of `iteration`.
  std::optional<LocalResume> resume{};
  uint64_t iteration = 0;
  // Called on the reading thread.
  OnSkipped on_skipped{};
  // Receives the time of the threads that make elements; null: not measured.
  std::shared_ptr<ReadProfile> profile{};
};

// A pipeline in this process: the same stages as the service, the same elements
// in the same order, no dispatcher. The sequence accepts the maker's pieces.
struct LocalSequence {
  std::unique_ptr<SequenceReader> sequence;
  std::unique_ptr<PieceMaker> maker;
};

// Resolves files and compiles; returns all errors of the pipeline. The seed is
// the one given, or drawn.
absl::StatusOr<LocalSequence> OpenLocalSequence(
    const Graph& graph, std::shared_ptr<const FunctionRegistry> registry,
    LocalSequenceOptions options);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_LOCAL_SEQUENCE_H_
