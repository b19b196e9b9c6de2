#ifndef FEEDMILL_PYTHON_SRC_FUNCTION_NAMES_H_
#define FEEDMILL_PYTHON_SRC_FUNCTION_NAMES_H_

#include <string>
#include <string_view>
#include <vector>

namespace feedmill::python {

// FunctionNames returns the functions that expressions can call, sorted.
// FunctionHelp returns FunctionRegistry::HelpOf, or "" for an unknown name.
// NearestFunction returns the one nearest to an unknown name, or "" if no name
// is near.
std::vector<std::string> FunctionNames();
std::string FunctionHelp(std::string_view name);
std::string NearestFunction(std::string_view name);

}  // namespace feedmill::python

#endif  // FEEDMILL_PYTHON_SRC_FUNCTION_NAMES_H_
