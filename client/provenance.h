#ifndef FEEDMILL_CLIENT_PROVENANCE_H_
#define FEEDMILL_CLIENT_PROVENANCE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "client/reader.h"
#include "core/pipeline/provenance.h"

namespace feedmill {

// Which records made a batch (an element, without batches) that a reader was
// given, and the batch again: offline, from the files alone.
struct ShownBatch {
  uint64_t number = 0;  // Reader::number
  uint64_t iteration = 0;
  uint64_t seed = 0;
  TracedElement traced;

  // One line: {"batch":…,"iteration":…,"seed":…,"records":[{"file":…,
  // "record":…,"epoch":…}, …],"element":…}, the element as `feedmill read`
  // prints it.
  std::string ToJson() const;
};

// Uses only directory, seed, epoch, registry and token of the options. The
// seed and epoch of a token count, and its files are compared. A moment where
// the plan knows the batches; else everything before it is made again, on one
// thread.
//   InvalidArgument   the graph draws and nothing says the seed; the pipeline
//                     or token is wrong
//   OutOfRange        there is no such batch
absl::StatusOr<ShownBatch> ShowBatch(const Graph& graph, uint64_t number,
                                     const ReadOptions& options);

}  // namespace feedmill

#endif  // FEEDMILL_CLIENT_PROVENANCE_H_
