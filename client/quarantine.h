#ifndef FEEDMILL_CLIENT_QUARANTINE_H_
#define FEEDMILL_CLIENT_QUARANTINE_H_

#include "core/dataset/graph.h"
#include "core/pipeline/skip_count.h"

namespace feedmill {

// Returns the writer of the quarantine file of the graph's on_error step; null
// if the step names no file. The file has a JSON line for each skipped element:
//
//   {"plan":"…","position":17,"index":0,"records":[{"file":"a.tfrecord",
//   "record":17,"epoch":0}],"error":"…"}
//
// The file has one line per element of a plan (pipeline, files, seed and
// iteration). That holds even if the plan is read repeatedly, resumed, or read
// by several ranks at once.
//
// Lines are added under a lock (flock) and never changed. A line that a crash
// cut short is ignored. Errors: Unavailable, naming the file. For one thread at
// a time.
// cut short is ignored. Errors: Unavailable, naming the file. For one thread at
// a time.
OnSkipped QuarantineOf(const Graph& graph);

}  // namespace feedmill

#endif  // FEEDMILL_CLIENT_QUARANTINE_H_
