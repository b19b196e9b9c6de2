#ifndef FEEDMILL_TOOLS_COMMAND_BATCH_SAMPLER_H_
#define FEEDMILL_TOOLS_COMMAND_BATCH_SAMPLER_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "feedmill/dispatcher.h"

namespace feedmill {

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

#endif  // FEEDMILL_TOOLS_COMMAND_BATCH_SAMPLER_H_
