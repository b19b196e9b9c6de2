#include "python/src/function_names.h"

#include <memory>

#include "core/dataset/foreign_names.h"
#include "core/dataset/function_registry.h"
#include "core/dataset/step_kind.h"
#include "core/operators/registry.h"
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

std::string HintForName(std::string_view name, std::string_view where,
                        const std::vector<std::string_view>& known) {
  return NameHint(name, where, known);
}

std::string ShortFormHint(std::string_view step) {
  const StepKind* const kind = FindStepKind(step);
  return kind == nullptr ? "" : std::string(kind->short_form_hint());
}

}  // namespace feedmill::python
