#ifndef FEEDMILL_CLIENT_QUARANTINE_H_
#define FEEDMILL_CLIENT_QUARANTINE_H_

#include <cstddef>
#include <string>

#include "core/chunk/skipped_element.h"
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
//
// Objects of a store cannot grow. If the step names a folder of a store, each
// line is the object FOLDER/PLAN/POSITION-INDEX.jsonl, with the same meaning.
// Errors are the store's.
OnSkipped QuarantineOf(const Graph& graph);

// Returns a line for operators that names the element's first record and the
// error: "record 17 of /data/a.tfrecord: …". At most kSkippedTextMax bytes.
std::string SkippedText(const SkippedElement& skipped);
inline constexpr size_t kSkippedTextMax = 300;

}  // namespace feedmill

#endif  // FEEDMILL_CLIENT_QUARANTINE_H_
