#ifndef FEEDMILL_TOOLS_COMMAND_OP_PLUGIN_FLAG_H_
#define FEEDMILL_TOOLS_COMMAND_OP_PLUGIN_FLAG_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/dataset/function_registry.h"
#include "tools/command/flags.h"

namespace feedmill {

// --op-plugin, for every command that checks or evaluates expressions.
struct OpPluginFlag {
  std::string paths;

  void Declare(FlagSet& flags);
  // Returns `functions` and the plugins' functions: of the flag or, without it,
  // of FEEDMILL_OP_PLUGINS. InvalidArgument names the file and the reason for
  // refusing it.
  absl::StatusOr<std::shared_ptr<const FunctionRegistry>> AddTo(
      const std::shared_ptr<const FunctionRegistry>& functions) const;
};

}  // namespace feedmill

#endif  // FEEDMILL_TOOLS_COMMAND_OP_PLUGIN_FLAG_H_
