#ifndef FEEDMILL_PYTHON_SRC_FUNCTION_NAMES_H_
#define FEEDMILL_PYTHON_SRC_FUNCTION_NAMES_H_

#include <string>
#include <string_view>
#include <vector>

namespace feedmill::python {

// FunctionNames returns the functions that expressions can call, sorted.
// FunctionHelp returns FunctionRegistry::HelpOf, or "" for an unknown name.
std::vector<std::string> FunctionNames();
std::string FunctionHelp(std::string_view name);

// Returns NameHint (core/dataset/foreign_names.h).
std::string HintForName(std::string_view name, std::string_view where,
                        const std::vector<std::string_view>& known);
// Returns advice for a step that was given a value without the name of an
// option: StepKind::short_form_hint, or "".
std::string ShortFormHint(std::string_view step);

}  // namespace feedmill::python

#endif  // FEEDMILL_PYTHON_SRC_FUNCTION_NAMES_H_
