#ifndef FEEDMILL_TESTS_REFERENCE_PLACES_H_
#define FEEDMILL_TESTS_REFERENCE_PLACES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "core/dataset/graph.h"

namespace feedmill::reference {

// A position in the source, and the combined pass of all repeats after the last
// cache.
struct Place {
  struct Before {
    uint64_t position = 0, pass = 0;
  };
  uint64_t record = 0, pass = 0;
  // by step: number given by each enumerate
  std::map<size_t, uint64_t> numbers;
  std::map<size_t, Before> before;  // by cache: position and pass at its input
};
using Position = std::vector<Place>;  // one place, or the places of a batch

// Returns the first cache after step s (or after the source, for 0), if any.
std::optional<size_t> CacheAfter(const Graph& graph, size_t s);

// Returns the pass, and the position, in which step s sees a place of position
// p.
uint64_t PassOf(const Graph& graph, size_t s, const Place& place);
uint64_t PositionOf(const Graph& graph, size_t s, const Place& place,
                    uint64_t p);

// Returns the epoch of step s for a record of combined pass `pass`: without the
// repeats before s, from the last cache on.
uint64_t EpochOf(const Graph& graph, size_t s, uint64_t pass,
                 uint64_t infinite_passes);

// True if an infinite repeat runs step s repeatedly.
bool InPass(const Graph& graph, size_t s);

// Size of the batches made by the plan; 0: none.
uint64_t BatchSize(const Graph& graph, size_t client_begin);

// Returns the output of cache c in pass `pass`, given its input of the first
// pass.
std::vector<Position> PastCache(size_t c, std::vector<Position> in,
                                uint64_t pass);

// Context in which a plan step runs.
struct PlanStep {
  uint64_t seed = 0, iteration = 0, pass = 0;
  size_t number = 0;  // of the step, in written order
  bool ends = true;   // its input is finite
  const std::vector<uint64_t>& file_sizes;
};

// Returns the output of step s, a plan step other than repeat.
std::vector<Position> PlacesAfter(const Step& step, size_t s,
                                  std::vector<Position> in,
                                  const PlanStep& where);

}  // namespace feedmill::reference

#endif  // FEEDMILL_TESTS_REFERENCE_PLACES_H_
