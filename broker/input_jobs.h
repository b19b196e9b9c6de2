#ifndef FEEDMILL_BROKER_INPUT_JOBS_H_
#define FEEDMILL_BROKER_INPUT_JOBS_H_

#include <cstdint>

#include "absl/time/time.h"
#include "broker/dispatcher_context.h"

// Jobs by which a worker reads the inputs of one pipeline (InputJobName). Jobs
// with one reader are compared by how soon their splits are needed.

namespace feedmill {

// Sets the depths (LeaseTable) of a session's unserved splits: their places.
//
// The reader may use less of an input than of others, or have much of it ahead:
// the same number of its splits is needed later. There, splits count that the
// reader has in its buffer, and places are multiplied by about how many times
// less it has used. If it has what it uses in about a second ahead, the first
// split is not at depth 0, either.
void SetDepths(DispatcherContext& context, const SessionKey& key,
               absl::Time now);

// About the number of elements, or fewer: the rest of a position that ends
// between the cursors counts as one.
uint64_t ElementsBetween(Cursor from, Cursor to);

// Records that a session's reader used about this number of elements. If the
// head `moved` or the job is an input, sets the depths of its splits.
void NoteUse(DispatcherContext& context, const SessionKey& key,
             uint64_t elements, bool moved, absl::Time now);

// True if the job's worker waits for the first element of an input that other
// workers make. It is not slow then.
bool WaitsForInput(const DispatcherContext& context, const JobState& job,
                   absl::Time now);

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_INPUT_JOBS_H_
