#include "tools/command/op_plugin_flag.h"

#include <utility>

#include "core/base/status.h"
#include "core/ops/plugin_functions.h"

namespace feedmill {

void OpPluginFlag::Declare(FlagSet& flags) {
  flags.Text("--op-plugin", "FILE[:FILE...]",
             "Shared objects with functions for expressions; default: the "
             "variable FEEDMILL_OP_PLUGINS",
             &paths);
}

absl::StatusOr<std::shared_ptr<const FunctionRegistry>> OpPluginFlag::AddTo(
    const std::shared_ptr<const FunctionRegistry>& functions) const {
  auto all = std::make_shared<FunctionRegistry>(*functions);
  FM_RETURN_IF_ERROR(paths.empty()
                         ? AddOpPluginsOfEnvironment(all.get())
                         : AddOpPlugins("--op-plugin", paths, all.get()));
  return std::shared_ptr<const FunctionRegistry>(std::move(all));
}

}  // namespace feedmill
