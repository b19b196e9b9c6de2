#ifndef FEEDMILL_CORE_OPS_PLUGIN_FUNCTIONS_H_
#define FEEDMILL_CORE_OPS_PLUGIN_FUNCTIONS_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/dataset/function_registry.h"

namespace feedmill {

// Adds the functions of a shared object (plugin.h) to the registry; it stays
// loaded. InvalidArgument names the file and the reason: it cannot be loaded,
// lacks the entry point or a callback, has another version of the contract, or
// has a name that is taken.
absl::Status AddOpPlugin(const std::string& path, FunctionRegistry* registry);

// Adds the plugins of a list of files that ':' separates. `where` names the
// list in error messages.
absl::Status AddOpPlugins(const std::string& where, const std::string& paths,
                          FunctionRegistry* registry);

// Adds the plugins of the variable FEEDMILL_OP_PLUGINS.
absl::Status AddOpPluginsOfEnvironment(FunctionRegistry* registry);

// Returns the default functions of expressions: BuiltinFunctions() and the
// plugins of FEEDMILL_OP_PLUGINS.
absl::StatusOr<std::shared_ptr<const FunctionRegistry>> DefaultFunctions();

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_PLUGIN_FUNCTIONS_H_
