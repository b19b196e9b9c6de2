#ifndef FEEDMILL_TESTS_REFERENCE_PLACES_H_
#define FEEDMILL_TESTS_REFERENCE_PLACES_H_

#include <cstdint>
#include <map>
#include <vector>

#include "core/dataset/graph.h"

namespace feedmill::reference {

// A place in the source, and the combined pass of all repeats.
struct Place {
  uint64_t record = 0, pass = 0;
  std::map<size_t, uint64_t> numbers;  // by step: of each enumerate
};
using Position = std::vector<Place>;  // one place, or a batch of them

// What steps of the plan make of the positions that enter them.
std::vector<Position> Taken(const TakeStep& step, std::vector<Position> in);
std::vector<Position> Skipped(const SkipStep& step, std::vector<Position> in);
std::vector<Position> Sharded(const ShardStep& step, std::vector<Position> in);
std::vector<Position> Batched(const BatchStep& step, std::vector<Position> in);

}  // namespace feedmill::reference

#endif  // FEEDMILL_TESTS_REFERENCE_PLACES_H_
