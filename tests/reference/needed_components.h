#ifndef FEEDMILL_TESTS_REFERENCE_NEEDED_COMPONENTS_H_
#define FEEDMILL_TESTS_REFERENCE_NEEDED_COMPONENTS_H_

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/dataset/graph.h"
#include "tests/reference/interpreter.h"

namespace feedmill::reference {

// Names of needed components, "x" for a single unnamed one; nullopt: all.
using Needed = std::optional<std::set<std::string>>;

// Returns the components needed before each step, and at the end. `at_end`:
// needed outputs of the pipeline.
std::vector<Needed> NeededComponents(const Graph& graph, Needed at_end);

// Returns the component names of a pipeline's output; may contain superfluous
// `_offsets`.
std::vector<std::string> NamesOf(const Graph& graph);

// A component of the output of with_columns, select, drop or rename: made by an
// expression, or kept from the input, where its name is `input`.
struct ChosenColumn {
  std::string name;
  const Expr* expr = nullptr;  // of the step
  std::string input;
};
// Returns them, given the names of the input; nullopt for other steps.
std::optional<std::vector<ChosenColumn>> ChosenColumns(
    const Step& step, const std::vector<std::string>& in);
// Returns the names of the components before step `s`.
std::vector<std::string> NamesBefore(const Graph& graph, size_t s);
// Returns the expression that is true for the elements that a filter, sample or
// split keeps; nullopt for other steps. `in`: the names of its input.
std::optional<Expr> PredicateOf(const Step& step,
                                const std::vector<std::string>& in);

// True for these steps.
bool Drops(const Step& step);

bool IsNeeded(const Needed& needed, const std::string& name);

// Returns the names that are kept: the needed ones, or the first.
std::set<std::string> Kept(const Needed& needed,
                           const std::vector<std::string>& names);

// Drops the components that are not kept.
void Keep(const Needed& needed, Element& element);

// Returns a parse_example or parse_sequence_example step with only the needed
// features; other steps unchanged.
Step NeededPart(const Step& step, const Needed& needed);

// Returns the needed components of an input that makes `names`.
Needed NeededOfInput(const Needed& needed,
                     const std::vector<std::string>& names);

}  // namespace feedmill::reference

#endif  // FEEDMILL_TESTS_REFERENCE_NEEDED_COMPONENTS_H_
