#ifndef FEEDMILL_CORE_DATASET_PYTHON_VERSIONS_H_
#define FEEDMILL_CORE_DATASET_PYTHON_VERSIONS_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

// Versions of Python and of its packages: an interpreter's, or the versions
// that Python functions need.

namespace feedmill {

struct AnalyzedGraph;

constexpr size_t kPythonPackagesMax = 10'000;  // of an interpreter

// An interpreter that runs Python functions.
struct PythonInterpreter {
  std::string path;     // "/usr/bin/python3"
  std::string version;  // "3.11.2"
  // All installed packages as "name==version", sorted, with names as
  // NormalPackageName returns them.
  std::vector<std::string> packages{};
  friend bool operator==(const PythonInterpreter&,
                         const PythonInterpreter&) = default;
};

// Versions that a function was made with.
struct PythonNeeds {
  std::string version;                  // "3.11.2"
  std::vector<std::string> packages{};  // "numpy==2.1.0"
  friend bool operator==(const PythonNeeds&, const PythonNeeds&) = default;
};

// The needs of all functions of a graph; null if it has none.
using PythonNeedsPtr = std::shared_ptr<const std::vector<PythonNeeds>>;

// Returns the name as Python's package tools compare it: "PyYAML" and "pyyaml",
// "a.b" and "a-b" are one package.
std::string NormalPackageName(std::string_view name);

// Returns the needs of the functions that workers run.
PythonNeedsPtr WorkerPythonNeeds(const AnalyzedGraph& graph);

// Returns "" if the interpreter can run functions with these needs: it has the
// same minor version of Python, and exactly these versions of the packages.
// Else says what it has instead: "has numpy 1.26.4". `interpreter` is null if a
// process allows no Python functions.
std::string WhyUnfit(const PythonNeedsPtr& needs,
                     const PythonInterpreter* interpreter);

// Returns the needs as text: "Python 3.11.2, numpy 2.1.0 and cloudpickle
// 3.1.0".
std::string NeedsText(const PythonNeedsPtr& needs);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_PYTHON_VERSIONS_H_
