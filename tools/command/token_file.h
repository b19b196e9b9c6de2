#ifndef FEEDMILL_TOOLS_COMMAND_TOKEN_FILE_H_
#define FEEDMILL_TOOLS_COMMAND_TOKEN_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace feedmill {

// True if SaveToken creates or replaces a file at that path. False for a pipe
// or device, where earlier output remains.
bool IsTokenFile(const std::string& path);

// Reads the bytes of a token file. `what` names it in errors, e.g. "--token
// at100".
absl::StatusOr<std::string> LoadToken(const std::string& what,
                                      const std::string& path);
// Saves atomically: the file has either the new or the old content.
absl::Status SaveToken(const std::string& what, const std::string& path,
                       const std::string& bytes);

}  // namespace feedmill

#endif  // FEEDMILL_TOOLS_COMMAND_TOKEN_FILE_H_
