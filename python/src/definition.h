#ifndef FEEDMILL_PYTHON_SRC_DEFINITION_H_
#define FEEDMILL_PYTHON_SRC_DEFINITION_H_

#include <string>
#include <string_view>
#include <vector>

namespace feedmill::python {

// A pipeline's YAML as JSON, with the values as they are written, so that
// Python holds the definition as data. Quoted scalars are strings.
// REQUIRES: ParsePipelineYaml took the text: its aliases are bounded then.
std::string YamlToJson(const std::string& yaml);

// `files` of a source with `directory` before those that are relative.
std::vector<std::string> AbsoluteFiles(std::vector<std::string> files,
                                       const std::string& directory);
// The same for a path that is no pattern.
std::string AbsolutePath(const std::string& path, const std::string& directory);
// The same for the files that an expression names. An expression that names
// none, or that does not parse, is returned as it is.
std::string AbsoluteExpression(const std::string& text,
                               const std::string& directory);

// All steps as JSON: [{"name": …, "summary": …, "fields": [{"name": …,
// "kind": …, "required": …, "short": …, "whole": …, "words": […], "help":
// …}]}]. The fields are those of the YAML, in the order of docs/steps.md.
std::string StepsJson();
// The same of all sources.
std::string SourcesJson();

// The functions that expressions can call, sorted, and the nearest of them to a
// name that is none ("" if no name is near).
std::vector<std::string> FunctionNames();
std::string NearestFunction(std::string_view name);

}  // namespace feedmill::python

#endif  // FEEDMILL_PYTHON_SRC_DEFINITION_H_
