#ifndef FEEDMILL_TOOLS_COMMAND_SOURCE_GUESS_H_
#define FEEDMILL_TOOLS_COMMAND_SOURCE_GUESS_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/dataset/source_kind.h"
#include "core/definition/pipeline_text.h"

namespace feedmill {

// True for the name of a pipeline's file: "*.yaml", "*.yml", and "-", the
// standard input.
bool IsPipelineName(std::string_view name);

// Returns the pipeline that reads `files`: names, URLs, folders or globs. `as`:
// the name of the source; "": the kind that the names say or, where they say
// nothing, the first bytes of the first file with bytes. The delimiter of a csv
// file follows from its first line. InvalidArgument if the kind is unknown, and
// for files of several kinds.
absl::StatusOr<Pipeline> GuessPipeline(const std::vector<std::string>& files,
                                       std::string_view as);

}  // namespace feedmill

#endif  // FEEDMILL_TOOLS_COMMAND_SOURCE_GUESS_H_
