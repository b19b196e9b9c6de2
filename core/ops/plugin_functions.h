#ifndef FEEDMILL_CORE_OPS_PLUGIN_FUNCTIONS_H_
#define FEEDMILL_CORE_OPS_PLUGIN_FUNCTIONS_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/dataset/function_registry.h"

namespace feedmill {

// Adds the functions of a shared object (op_plugin.h) to the registry; it stays
// loaded. InvalidArgument names the file and says why it is refused: it cannot
// be loaded, lacks the entry point or a callback, is of another version of the
// contract, or has a name that is taken.
absl::Status AddOpPlugin(const std::string& path, FunctionRegistry* registry);

// Those of a list of files, with ':' between them; `where` it stands goes
// before an error.
absl::Status AddOpPlugins(const std::string& where, const std::string& paths,
                          FunctionRegistry* registry);

// Those of the variable FEEDMILL_OP_PLUGINS.
absl::Status AddOpPluginsOfEnvironment(FunctionRegistry* registry);

// What expressions may call where nobody says otherwise: BuiltinFunctions() and
// those of the variable.
absl::StatusOr<std::shared_ptr<const FunctionRegistry>> DefaultFunctions();

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_PLUGIN_FUNCTIONS_H_
