#ifndef FEEDMILL_TOOLS_COMMAND_TOKEN_FILE_H_
#define FEEDMILL_TOOLS_COMMAND_TOKEN_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace feedmill {

// True if SaveToken makes or replaces a file at that path, false if it writes
// into a pipe or a device, which keeps what was written before.
bool IsTokenFile(const std::string& path);

// The bytes of a token's file. `what` names it in errors: "--token at100".
absl::StatusOr<std::string> LoadToken(const std::string& what,
                                      const std::string& path);
// The file is there whole or as it was before.
absl::Status SaveToken(const std::string& what, const std::string& path,
                       const std::string& bytes);

}  // namespace feedmill

#endif  // FEEDMILL_TOOLS_COMMAND_TOKEN_FILE_H_
