#include "python/src/function_names.h"

#include <memory>

#include "core/dataset/function_registry.h"
#include "core/ops/plugin_functions.h"
#include "python/src/status.h"

namespace feedmill::python {
namespace {

std::shared_ptr<const FunctionRegistry> Functions() {
  static const std::shared_ptr<const FunctionRegistry> functions =
      Take(DefaultFunctions());
  return functions;
}

}  // namespace

std::vector<std::string> FunctionNames() {
  const std::vector<std::string_view> names = Functions()->Names();
  return {names.begin(), names.end()};
}

std::string FunctionHelp(std::string_view name) {
  return Functions()->Find(name) == nullptr ? "" : Functions()->HelpOf(name);
}

std::string NearestFunction(std::string_view name) {
  return Functions()->Nearest(name);
}

}  // namespace feedmill::python
