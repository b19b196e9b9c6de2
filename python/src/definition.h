#ifndef FEEDMILL_PYTHON_SRC_DEFINITION_H_
#define FEEDMILL_PYTHON_SRC_DEFINITION_H_

#include <string>
#include <string_view>
#include <vector>

namespace feedmill::python {

// Converts a pipeline's YAML to JSON, with the values as they are written, so
// that Python holds the definition as data. Quoted scalars are strings.
// REQUIRES: ParsePipelineYaml accepted the text, which bounds its aliases.
std::string YamlToJson(const std::string& yaml);

// Prepends `directory` to each relative name in a source's `files`.
std::vector<std::string> AbsoluteFiles(std::vector<std::string> files,
                                       const std::string& directory);
// Prepends `directory` to a relative path that is not a pattern.
std::string AbsolutePath(const std::string& path, const std::string& directory);
// Prepends `directory` to each relative file name in an expression. An
// expression that names no files, or does not parse, is returned unchanged.
std::string AbsoluteExpression(const std::string& text,
                               const std::string& directory);

// Returns all steps as JSON. The fields are as in the YAML, in the order of
// docs/steps.md:
//
//   [{"name": …, "summary": …, "fields": [{"name": …, "kind": …,
//     "required": …, "short": …, "whole": …, "words": […], "help": …}]}]
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
