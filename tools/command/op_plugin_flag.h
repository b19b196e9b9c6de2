#ifndef FEEDMILL_TOOLS_COMMAND_OP_PLUGIN_FLAG_H_
#define FEEDMILL_TOOLS_COMMAND_OP_PLUGIN_FLAG_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/dataset/function_registry.h"
#include "tools/command/flags.h"

namespace feedmill {

// --op-plugin, of every command that types or computes expressions.
struct OpPluginFlag {
  std::string paths;

  void Declare(FlagSet& flags);
  // `functions` and those of the plugins; of FEEDMILL_OP_PLUGINS, where the
  // flag is not given. InvalidArgument names the file and says why it is
  // refused.
  absl::StatusOr<std::shared_ptr<const FunctionRegistry>> AddTo(
      const std::shared_ptr<const FunctionRegistry>& functions) const;
};

}  // namespace feedmill

#endif  // FEEDMILL_TOOLS_COMMAND_OP_PLUGIN_FLAG_H_
