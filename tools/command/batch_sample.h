#ifndef FEEDMILL_TOOLS_COMMAND_BATCH_SAMPLE_H_
#define FEEDMILL_TOOLS_COMMAND_BATCH_SAMPLE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "core/dataset/graph.h"
#include "feedmill/dispatcher.h"
#include "feedmill/reader.h"

namespace feedmill {

// Returns a batch as people look at it, as one line of JSON:
//
//   {"batch":0,"epoch":0,"seed":7,
//    "components":[{"name":"image","type":"uint8[32, 224, 224, 3]",
//                   "pictures":[{"width":96,"height":96,"rgb":"<base64>"}]},
//                  {"name":"text","type":"bytes[32]","texts":["…"]},
//                  {"name":"label","type":"int64[32]","values":["3","5"]}],
//    "records":[{"file":"a.tfrecord","record":17,"epoch":0}],"record_count":32,
//    "inputs":[{"name":"inputs[0] text","records":21,"percent":65.6,
//               "weight_percent":66.7}]}
//
// Pictures are uint8 or float components of 1 or 3 channels, made smaller; of
// each component the first kItemsShown items are given. "inputs" is there if
// the source combines several: the share of each in the batch's records, and of
// a mixture also its weight. A record belongs to the first input whose files
// match.
std::string BatchSampleJson(const ShownBatch& batch, const Graph& graph);

// In place of the pipeline's file: `feedmill read` reads a graph as ExportedRun
// has it from standard input.
inline constexpr char kExportedGraph[] = "graph:-";

// Makes a batch of a run again, and returns BatchSampleJson of it. Another
// process of this command does so, which reads the files itself: a record that
// kills its reader does not end this process. It loads the plugins of
// `op_plugins` (--op-plugin of this process) and runs no Python functions.
//   FailedPrecondition  another batch is being made
//   DeadlineExceeded    it takes too long
//   others              why there is no such batch, as `feedmill read` says it
//
// Thread-safety: any thread.
absl::StatusOr<std::string> SampleBatch(const ExportedRun& run, uint64_t batch,
                                        const std::string& op_plugins);

}  // namespace feedmill

#endif  // FEEDMILL_TOOLS_COMMAND_BATCH_SAMPLE_H_
