#ifndef FEEDMILL_PROVENANCE_H_
#define FEEDMILL_PROVENANCE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "feedmill/chunk.h"

// Exported from libfeedmill.so.
#pragma GCC visibility push(default)
namespace feedmill {

class Dataset;
struct ReadOptions;

// A record of a source that an element was made of.
struct RecordOrigin {
  std::string file;     // "" where there are none
  uint64_t record = 0;  // its number in the file, from 0
  // Records are counted from this byte of the file. Not 0 for a file without an
  // index, which is counted in blocks of 4 MiB.
  uint64_t offset = 0;
  uint64_t epoch = 0;  // the pass of the dataset's repeats, counted together
  friend bool operator==(const RecordOrigin&, const RecordOrigin&) = default;
};

// An element of a sequence, and the records that it was made of.
struct TracedElement {
  Chunk element;  // one row
  std::vector<RecordOrigin> records;
};

// A batch (an element, if the dataset makes no batches) of a reading, and the
// records that it was made of.
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

// Makes batch `number` (Reader::number) of a reading again, from the files
// alone. Uses directory, seed, epoch and resume.token of the options, and the
// registry, the interpreter and `interrupted` of their hooks; a token's seed
// and epoch count, and its files must be the same. Fast if the plan knows the
// place of each batch; otherwise it makes all batches before it, on one thread.
//   Cancelled         `interrupted` returned true
//   InvalidArgument   the pipeline uses random numbers and nothing says the
//                     seed; the pipeline or token is wrong
//   OutOfRange        there is no such batch
absl::StatusOr<ShownBatch> ShowBatch(const Dataset& dataset, uint64_t number,
                                     const ReadOptions& options);

}  // namespace feedmill
#pragma GCC visibility pop

#endif  // FEEDMILL_PROVENANCE_H_
