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

// A sequence to go on with: what a token of it says.
struct LocalResume {
  uint64_t seed = 0;
  uint64_t iteration = 0;
  ReadPlace place;
};

struct LocalReaderOptions {
  // That make elements; 0: AvailableCpus(). Where pieces are soon made and
  // taken, the thread that reads takes the place of one of them; not where they
  // are profiled, which tells those threads apart.
  int threads = 0;
  size_t memory_bytes = size_t{256} << 20;  // computed ahead of the reader
  size_t piece_bytes = size_t{512} << 10;   // flush size of a chunk
  // Largest component of an element. A larger one is an error of its element:
  // ResourceExhausted, which names the step. 0: see
  // ElementBytesMax (process_quota.h).
  uint64_t element_bytes_max = 0;
  Share share{};                        // which elements, and
  std::vector<NumberRange> skips{};     // which not: see ReadRules
  std::optional<LocalResume> resume{};  // absent: from the beginning
  uint64_t iteration = 0;               // without `resume`
  OnSkipped on_skipped{};               // on the thread that reads
  // Where the time of the threads that make elements goes; null: not measured.
  std::shared_ptr<ReadProfile> profile{};
};

// Runs a pipeline in this process: the same stages as the service, the same
// elements in the same order, no dispatcher.
class LocalReader {
 public:
  // Resolves files and compiles; all errors of the pipeline appear here.
  static absl::StatusOr<std::unique_ptr<LocalReader>> Make(
      const Graph& graph, std::shared_ptr<const FunctionRegistry> registry,
      LocalReaderOptions options);
  virtual ~LocalReader() = default;

  // The next elements in order; nullopt at the end. After an error, the same
  // error again. DeadlineExceeded if nothing came by then.
  virtual absl::StatusOr<std::optional<Chunk>> Next(absl::Time deadline) = 0;
  virtual const ElementSpec& spec() const = 0;
  virtual uint64_t seed() const = 0;  // the one given, or drawn
  virtual uint64_t iteration() const = 0;
  // Number of elements in the sequence, of all ranks; nullopt if it is known
  // only by reading, or if there is no end.
  virtual std::optional<uint64_t> size() const = 0;
  // PlanIdOf what is read.
  virtual const std::string& plan() const = 0;
  // Elements that on_error has left out so far, before a token's place too.
  virtual uint64_t skipped() const = 0;
  // The pass (Plan::ReachedPass) of the last element that Next gave but for
  // `unread`, which are fewer than the last chunk has. 0 before the first one.
  virtual uint64_t PassBefore(uint64_t unread) const = 0;
  // Where it stands before the last `unread` elements that Next gave; nullopt
  // if they are more than the last chunk's.
  virtual std::optional<ReadPlace> PlaceBefore(uint64_t unread) const = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_LOCAL_READER_H_
