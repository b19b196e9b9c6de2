#ifndef FEEDMILL_CORE_OPERATORS_REGISTRY_H_
#define FEEDMILL_CORE_OPERATORS_REGISTRY_H_

#include <string_view>
#include <typeinfo>
#include <utility>
#include <vector>

#include "core/dataset/graph.h"
#include "core/dataset/source_kind.h"
#include "core/dataset/step_kind.h"

namespace feedmill {

// The kinds of steps and of sources that a pipeline may have: the built-in
// ones, in the order of their files, then registered ones.

// Adds a kind of step. Call it in main(), before any pipeline is read, in every
// process: trainers, the dispatcher and workers. `kind` must live as long as
// the process. REQUIRES: its names are not taken.
void RegisterStep(const StepKind& kind);

const std::vector<const StepKind*>& StepKinds();
// Returns the kind with that name, or null.
const StepKind* FindStepKind(std::string_view name);
// Returns the kind whose options have that type. REQUIRES: there is one.
const StepKind& StepKindOfOptions(const std::type_info& type);
// Returns all names.
std::vector<std::string_view> StepNames();

// Returns a step with these options, a struct of dataset_options.h.
template <class Options>
Step MakeStep(Options options) {
  return Step(StepKindOfOptions(typeid(Options)), std::move(options));
}

// ---- sources, in the same way

// Adds a kind of source; see RegisterStep.
void RegisterSource(const SourceKind& kind);

const std::vector<const SourceKind*>& SourceKinds();
// Returns the kind with that name, or null.
const SourceKind* FindSourceKind(std::string_view name);
// Returns the kind whose options have that type. REQUIRES: there is one.
const SourceKind& SourceKindOfOptions(const std::type_info& type);
std::vector<std::string_view> SourceNames();

// Returns a source with these options, a struct of dataset_options.h.
template <class Options>
Source MakeSource(Options options) {
  return Source(SourceKindOfOptions(typeid(Options)), std::move(options));
}

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPERATORS_REGISTRY_H_
