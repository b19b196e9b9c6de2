#ifndef FEEDMILL_FUNCTIONS_H_
#define FEEDMILL_FUNCTIONS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

// Private to the library.
namespace feedmill {
class FunctionRegistry;
}  // namespace feedmill

// Exported from libfeedmill.so.
#pragma GCC visibility push(default)
namespace feedmill {

// Loads the functions that expressions may call: the built-in ones and those of
// these plugins (op_plugin.h). For ReadHooks::registry and the registry of
// WorkerConfig, DispatcherConfig, ServerConfig and RegistryConfig. Without it,
// these have the plugins of the variable FEEDMILL_OP_PLUGINS.
//
//   auto functions = feedmill::LoadFunctions({"/opt/ops/my_ops.so"});
//   if (!functions.ok()) return functions.status();
//   auto reader = feedmill::Read(dataset, {.hooks = {.registry = *functions}});
//
// A plugin stays loaded. InvalidArgument names the file and the reason: the
// file cannot be loaded, is no plugin or one of another version of op_plugin.h,
// or has a function whose name is taken.
absl::StatusOr<std::shared_ptr<const FunctionRegistry>> LoadFunctions(
    const std::vector<std::string>& plugins);

}  // namespace feedmill
#pragma GCC visibility pop

#endif  // FEEDMILL_FUNCTIONS_H_
