#ifndef FEEDMILL_TESTS_REFERENCE_SHUFFLES_H_
#define FEEDMILL_TESTS_REFERENCE_SHUFFLES_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "core/dataset/graph.h"
#include "tests/reference/random_numbers.h"

namespace feedmill::reference {

// Shuffles of known places. Element j of the output is element [j] of the
// input.

// Windowed shuffle. `ended`: the input has only n elements.
std::vector<uint64_t> WindowedIndexes(uint64_t n, uint64_t window,
                                      uint64_t seed, uint64_t iteration,
                                      uint64_t epoch, uint64_t step,
                                      bool ended);

// Shuffle of blocks, mixing `window` of them; `key` returns the key of a call.
std::vector<uint64_t> BlockedIndexes(
    uint64_t n, uint64_t block, uint64_t window,
    const std::function<Key(uint64_t ordinal)>& key);

// Shuffle of files with these numbers of records.
std::vector<uint64_t> FileIndexes(const std::vector<uint64_t>& sizes, Key key);

// Elements chosen by weight among n, in the order of the output. `order`: key
// of their shuffle; `begin`: of the grid's begin.
std::vector<uint64_t> WeightedIndexes(const WeightedSampleStep& step,
                                      uint64_t n, Key order, Key begin);

bool ShufflesAll(const Step& step);  // of all records, or of blocks of records
bool ShufflesFiles(const Step& step);  // also of files

// NeedsPlaces: steps that need known places. SeesSequence: steps after which
// places are known only by running.
bool NeedsPlaces(const Step& step);
bool SeesSequence(const Step& step);

}  // namespace feedmill::reference

#endif  // FEEDMILL_TESTS_REFERENCE_SHUFFLES_H_
