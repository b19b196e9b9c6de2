#include "core/dataset/place_names.h"

#include <cstddef>

#include "core/base/status.h"

namespace feedmill {
namespace {

// StepCost::place of step 0.
constexpr size_t kFirstStepPlace = 3;

void AddPlaces(const AnalyzedGraph& graph, const std::string& before,
               std::vector<std::string>& places) {
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    AddPlaces(*graph.inputs[i], fmt::format("{}inputs[{}] ", before, i),
              places);
  }
  for (size_t s = 0; s < graph.steps.size(); ++s) {
    const size_t place = kFirstStepPlace + graph.first_step + s;
    if (places.size() <= place) places.resize(place + 1);
    places[place] =
        fmt::format("{}steps[{}] {}", before, s, graph.graph.steps[s].name());
  }
}

}  // namespace

std::vector<std::string> PlaceNames(const AnalyzedGraph& graph) {
  if (graph.graph.sequenced) return PlaceNames(*graph.inputs[0]);
  std::vector<std::string> places{
      "other work", DescribeSource(graph.graph.source), "making chunks"};
  AddPlaces(graph, "", places);
  return places;
}

}  // namespace feedmill
