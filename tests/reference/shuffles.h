#ifndef FEEDMILL_TESTS_REFERENCE_SHUFFLES_H_
#define FEEDMILL_TESTS_REFERENCE_SHUFFLES_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "core/dataset/graph.h"
#include "tests/reference/random_numbers.h"

namespace feedmill::reference {

// Of places that are known. Element j of what each makes is that of index [j].

// A shuffle in a window. `ended`: no more than the n will come.
std::vector<uint64_t> WindowedIndexes(uint64_t n, uint64_t window,
                                      uint64_t seed, uint64_t iteration,
                                      uint64_t epoch, uint64_t step,
                                      bool ended);

// A shuffle of blocks, `window` of which are mixed; `key` is of its calls.
std::vector<uint64_t> BlockedIndexes(
    uint64_t n, uint64_t block, uint64_t window,
    const std::function<Key(uint64_t ordinal)>& key);

// A shuffle of files that have so many records.
std::vector<uint64_t> FileIndexes(const std::vector<uint64_t>& sizes, Key key);

bool ShufflesAll(const Step& step);    // of all records, or of blocks of them
bool ShufflesFiles(const Step& step);  // and of files

// Steps that need to know places, and those after which only running tells
// them.
bool NeedsPlaces(const Step& step);
bool SeesSequence(const Step& step);

}  // namespace feedmill::reference

#endif  // FEEDMILL_TESTS_REFERENCE_SHUFFLES_H_
