#ifndef FEEDMILL_CORE_DEFINITION_PIPELINE_FILE_H_
#define FEEDMILL_CORE_DEFINITION_PIPELINE_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "core/definition/pipeline_text.h"

namespace feedmill {

// Reads a pipeline file; "-" is standard input. Relative paths in it are
// relative to its folder. Errors name the file and the line.
absl::StatusOr<Pipeline> LoadPipeline(const std::string& path);

// If `status` is an error of Analyze about a part of `pipeline`, puts the file
// and the line before the message: "photos.yaml:4: steps[1] map: …". Returns
// any other status unchanged.
absl::Status WithLine(absl::Status status, const Pipeline& pipeline,
                      const std::string& path);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DEFINITION_PIPELINE_FILE_H_
