#ifndef FEEDMILL_CORE_PIPELINE_LOCAL_READER_H_
#define FEEDMILL_CORE_PIPELINE_LOCAL_READER_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "core/dataset/function_registry.h"
#include "core/dataset/graph.h"
#include "core/pipeline/read_place.h"
#include "core/pipeline/read_profile.h"
#include "core/pipeline/skip_count.h"
#include "feedmill/chunk.h"

namespace feedmill {

// The sequence and place to resume from, as in a token.
struct LocalResume {
  uint64_t seed = 0;
  uint64_t iteration = 0;
  ReadPlace place;
};

struct LocalReaderOptions {
  // Threads that make elements; 0: AvailableCpus(). If pieces are quickly made
  // and taken, the reading thread replaces one of them. With a profile it does
  // not, because the profile separates these threads.
  int threads = 0;
  size_t memory_bytes = size_t{256} << 20;  // elements made ahead of the reader
  size_t piece_bytes = size_t{512} << 10;   // flush size of a chunk
  // Largest component of an element. A larger component is a ResourceExhausted
  // error of its element that names the step. 0: see ElementBytesMax
  // (process_quota.h).
  uint64_t element_bytes_max = 0;
  Share share{};                        // elements to read; see ReadRules
  std::vector<NumberRange> skips{};     // elements not to read; see ReadRules
  std::optional<LocalResume> resume{};  // absent: from the beginning
  uint64_t iteration = 0;               // used without `resume`
  OnSkipped on_skipped{};               // called on the reading thread
  // Measures the time of the threads that make elements; null: no measurement.
  std::shared_ptr<ReadProfile> profile{};
};

// Runs a pipeline in this process without a dispatcher. It has the same stages
// as the service, and yields the same elements in the same order.
class LocalReader {
 public:
  // Resolves files and compiles the pipeline; returns all errors of the
  // pipeline itself.
  static absl::StatusOr<std::unique_ptr<LocalReader>> Make(
      const Graph& graph, std::shared_ptr<const FunctionRegistry> registry,
      LocalReaderOptions options);
  virtual ~LocalReader() = default;

  // Returns the next elements in order; nullopt at the end. After an error,
  // returns the same error again. DeadlineExceeded if no element came by
  // `deadline`.
  virtual absl::StatusOr<std::optional<Chunk>> Next(absl::Time deadline) = 0;
  virtual const ElementSpec& spec() const = 0;
  virtual uint64_t seed() const = 0;  // the given seed, or the drawn one
  virtual uint64_t iteration() const = 0;
  // Number of elements of the whole sequence, over all ranks; nullopt if it is
  // infinite, or unknown before the end.
  virtual std::optional<uint64_t> size() const = 0;
  // PlanIdOf the sequence.
  virtual const std::string& plan() const = 0;
  // Number of elements that on_error has skipped so far, including those before
  // a token's place.
  virtual uint64_t skipped() const = 0;
  // Returns the pass (Plan::ReachedPass) of the last element that Next
  // returned, not counting the last `unread` elements. 0 before the first
  // element. REQUIRES: `unread` is less than the rows of the last chunk.
  virtual uint64_t PassBefore(uint64_t unread) const = 0;
  // Returns the place before the last `unread` elements that Next returned;
  // nullopt if there are more than the last chunk had.
  virtual std::optional<ReadPlace> PlaceBefore(uint64_t unread) const = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_LOCAL_READER_H_
