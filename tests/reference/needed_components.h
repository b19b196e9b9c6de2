#ifndef FEEDMILL_TESTS_REFERENCE_NEEDED_COMPONENTS_H_
#define FEEDMILL_TESTS_REFERENCE_NEEDED_COMPONENTS_H_

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/dataset/graph.h"
#include "tests/reference/interpreter.h"

namespace feedmill::reference {

// Names of components that something needs, a single unnamed one as "x";
// nullopt: all.
using Needed = std::optional<std::set<std::string>>;

// What is needed of the elements before each step and, the last, of those that
// leave the pipeline, of which the whole needs `at_end`.
std::vector<Needed> NeededComponents(const Graph& graph, Needed at_end);

// The names of what a pipeline makes; some of `_offsets` may be too many.
std::vector<std::string> NamesOf(const Graph& graph);

bool IsNeeded(const Needed& needed, const std::string& name);

// Which of the names stay: those that are needed, or the first.
std::set<std::string> Kept(const Needed& needed,
                           const std::vector<std::string>& names);

// Drops the components that do not stay.
void Keep(const Needed& needed, Element& element);

// A parse_example, or _sequence_example, of the features that are needed; other
// steps as they are.
Step NeededPart(const Step& step, const Needed& needed);

// What is needed of an input that makes `names`.
Needed NeededOfInput(const Needed& needed,
                     const std::vector<std::string>& names);

}  // namespace feedmill::reference

#endif  // FEEDMILL_TESTS_REFERENCE_NEEDED_COMPONENTS_H_
