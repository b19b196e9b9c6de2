#ifndef FEEDMILL_CORE_PIPELINE_LOCAL_READER_H_
#define FEEDMILL_CORE_PIPELINE_LOCAL_READER_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "core/dataset/function_registry.h"
#include "core/dataset/graph.h"
#include "core/pipeline/piece_maker.h"
#include "core/pipeline/read_place.h"
#include "core/pipeline/read_profile.h"
#include "core/pipeline/sequence_reader.h"
#include "core/pipeline/skip_count.h"
#include "feedmill/element.h"

namespace feedmill {

// A place in a sequence, as a token describes it.
struct LocalResume {
  uint64_t seed = 0;
  uint64_t iteration = 0;
  ReadPlace place;
};

struct LocalReaderOptions {
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

// Runs a pipeline in this process: the same stages as the service, the same
// elements in the same order, no dispatcher.
class LocalReader final {
 public:
  // Resolves files and compiles; all errors of the pipeline appear here.
  static absl::StatusOr<std::unique_ptr<LocalReader>> Make(
      const Graph& graph, std::shared_ptr<const FunctionRegistry> registry,
      LocalReaderOptions options);

  // Returns the next elements in order; nullopt at the end. After an error,
  // returns the same error again. DeadlineExceeded without ended(): nothing
  // came by `deadline`.
  absl::StatusOr<std::optional<Chunk>> Next(absl::Time deadline);
  // True after the end of the data or an error.
  bool ended() const { return sequence_->end().has_value(); }

  const ElementSpec& spec() const { return *plan().graph().output; }
  uint64_t seed() const { return plan().seed(); }  // the one given, or drawn
  uint64_t iteration() const { return plan().iteration(); }
  // Identifies the sequence (PlanIdOf).
  const std::string& plan_id() const { return plan_id_; }
  // Place, pass, and number of elements left; see SequenceReader.
  const SequenceReader& sequence() const { return *sequence_; }

 private:
  LocalReader(std::unique_ptr<SequenceReader> sequence,
              std::unique_ptr<PieceMaker> maker, uint64_t element_bytes_max,
              std::string plan_id);
  const Plan& plan() const { return sequence_->plan(); }

  const std::unique_ptr<SequenceReader> sequence_;
  const std::unique_ptr<PieceMaker> maker_;
  const uint64_t element_bytes_max_;
  const std::string plan_id_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_LOCAL_READER_H_
