#ifndef FEEDMILL_PYTHON_SRC_DEFINITION_H_
#define FEEDMILL_PYTHON_SRC_DEFINITION_H_

#include <string>
#include <string_view>
#include <vector>

namespace feedmill::python {

// Returns all steps as JSON. The fields are as in the YAML, in the order of
// docs/steps.md:
//
//   [{"name": …, "summary": …, "fields": [{"name": …, "kind": …,
//     "required": …, "words": […], "help": …}]}]
std::string StepsJson();
// Returns all sources as JSON in the same form.
std::string SourcesJson();

// FunctionNames returns the functions that expressions can call, sorted.
// NearestFunction returns the one nearest to an unknown name, or "" if no name
// is near.
std::vector<std::string> FunctionNames();
std::string NearestFunction(std::string_view name);

}  // namespace feedmill::python

#endif  // FEEDMILL_PYTHON_SRC_DEFINITION_H_
