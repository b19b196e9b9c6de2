#ifndef FEEDMILL_CORE_DEFINITION_PIPELINE_FILE_H_
#define FEEDMILL_CORE_DEFINITION_PIPELINE_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "core/definition/pipeline_text.h"

namespace feedmill {

// Reads a pipeline's file; "-" is standard input. Relative paths in it are
// relative to its folder. Errors name the file, and the line where it is wrong.
absl::StatusOr<Pipeline> LoadPipeline(const std::string& path);

// `status`, with the file and the line before the message, if it is an error of
// Analyze about a part of `pipeline`: "photos.yaml:4: steps[1] map: …". Other
// statuses are returned as they are.
absl::Status WithLine(absl::Status status, const Pipeline& pipeline,
                      const std::string& path);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DEFINITION_PIPELINE_FILE_H_
