#ifndef FEEDMILL_TESTS_REFERENCE_PLACES_H_
#define FEEDMILL_TESTS_REFERENCE_PLACES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "core/dataset/graph.h"

namespace feedmill::reference {

// A place in the source, and the combined pass of all repeats behind the last
// cache.
struct Place {
  struct Before {
    uint64_t position = 0, pass = 0;
  };
  uint64_t record = 0, pass = 0;
  std::map<size_t, uint64_t> numbers;  // by step: of each enumerate
  std::map<size_t, Before> before;     // by cache: as it entered that
};
using Position = std::vector<Place>;  // one place, or a batch of them

// The cache that step s (or the source, for 0) stands before, if any.
std::optional<size_t> CacheAfter(const Graph& graph, size_t s);

// The pass, and the position, in which step s sees a place of position p.
uint64_t PassOf(const Graph& graph, size_t s, const Place& place);
uint64_t PositionOf(const Graph& graph, size_t s, const Place& place,
                    uint64_t p);

// The epoch of step s for a record of combined pass `pass`: the repeats before
// s, from the last cache on, are divided out.
uint64_t EpochOf(const Graph& graph, size_t s, uint64_t pass,
                 uint64_t endless_passes);

// Whether an endless repeat begins step s again and again.
bool InPass(const Graph& graph, size_t s);

// Of the batches that the plan makes; 0: none.
uint64_t BatchSize(const Graph& graph, size_t client_begin);

// The places that entered cache c in the first pass, as they leave it in pass
// `pass`.
std::vector<Position> PastCache(size_t c, std::vector<Position> in,
                                uint64_t pass);

// Where a step of the plan is run.
struct PlanStep {
  uint64_t seed = 0, iteration = 0, pass = 0;
  size_t number = 0;  // of the step, as written
  bool ends = true;   // what enters it does
  const std::vector<uint64_t>& file_sizes;
};

// What step s, one of the plan other than repeat, makes of `in`.
std::vector<Position> PlacesAfter(const Step& step, size_t s,
                                  std::vector<Position> in,
                                  const PlanStep& where);

}  // namespace feedmill::reference

#endif  // FEEDMILL_TESTS_REFERENCE_PLACES_H_
