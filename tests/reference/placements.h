#ifndef FEEDMILL_TESTS_REFERENCE_PLACEMENTS_H_
#define FEEDMILL_TESTS_REFERENCE_PLACEMENTS_H_

#include <cstddef>
#include <optional>

#include "core/dataset/graph.h"

namespace feedmill::reference {

// Placement of a pipeline's steps (docs/semantics/order.md).
struct Placements {
  bool counted = true;                // positions are records or elements
  bool infinite = false;              // an infinite repeat
  bool plan_ends = false;             // a take of the plan makes it finite
  size_t client_begin = 0;            // first step of the client
  std::optional<size_t> skip_before;  // the on_error step that skips
};
Placements PlacementsOf(const Graph& graph, bool is_input);

}  // namespace feedmill::reference

#endif  // FEEDMILL_TESTS_REFERENCE_PLACEMENTS_H_
