#ifndef FEEDMILL_TOOLS_COMMAND_SERVICE_FINDINGS_H_
#define FEEDMILL_TOOLS_COMMAND_SERVICE_FINDINGS_H_

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace feedmill {

// A line of `feedmill doctor`.
struct Finding {
  enum class Level { kOk, kWarning, kFailure };
  Level level = Level::kOk;
  std::string subject;
  std::string text;
};

// Compares the releases of this command, the dispatcher and its workers, and
// judges the space that the dispatcher's --work-dir has left. `status`: of the
// dispatcher.
std::vector<Finding> JudgeService(const nlohmann::json& status,
                                  const std::string& own_release);

}  // namespace feedmill

#endif  // FEEDMILL_TOOLS_COMMAND_SERVICE_FINDINGS_H_
