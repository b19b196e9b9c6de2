#ifndef FEEDMILL_CLIENT_QUARANTINE_H_
#define FEEDMILL_CLIENT_QUARANTINE_H_

#include "core/dataset/graph.h"
#include "core/pipeline/skip_count.h"

namespace feedmill {

// What writes the quarantine file of the graph's on_error step; null if it
// names none. A line of JSON for each element that is left out:
//
//   {"plan":"…","position":17,"index":0,"records":[{"file":"a.tfrecord",
//   "record":17,"epoch":0}],"error":"…"}
//
// The file has one line for each element of a plan (pipeline, files, seed and
// iteration), however often that is read: again, on from a token, or by several
// ranks at once. Lines are added under a lock (flock) and never changed; the
// rest of one that a crash cut off is ignored. Errors: Unavailable, naming the
// file. For one thread at a time.
OnSkipped QuarantineOf(const Graph& graph);

}  // namespace feedmill

#endif  // FEEDMILL_CLIENT_QUARANTINE_H_
