#ifndef FEEDMILL_TESTS_REFERENCE_SEQUENCE_STEPS_H_
#define FEEDMILL_TESTS_REFERENCE_SEQUENCE_STEPS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/dataset/graph.h"
#include "tests/reference/interpreter.h"
#include "tests/reference/random_numbers.h"

namespace feedmill::reference {

// The Philox counter of a record.
struct Counter {
  uint64_t p = 0, i = 0;
};

// An element with the counters of its records (one, or one per batch row), and
// its number for each enumerate of the plan.
struct Item {
  Element element;
  std::vector<Counter> counters;
  std::map<size_t, uint64_t> numbers;
  // In an input's output: no element, but marks where one was skipped
  // (LeftOut).
  bool left_out = false;
};

struct Items {
  std::vector<Item> items;
  bool failed = false;
  std::string failure;
};

// Applies `run` to the elements and inserts the skipped ones again. A skipped
// element follows the output of the elements before it alone (`ended` false),
// unless that fails.
Items AroundLeftOut(Items in,
                    const std::function<Items(Items in, bool whole)>& run);

// Makes a batch of the rows, whose counters begin at `first`. Throws DataError.
Item MakeBatch(const std::vector<Item>& rows, uint64_t first,
               BatchLayout layout = BatchLayout::kEqual,
               const std::vector<Padding>& padding = {});

// Returns the nesting depth of batches before step s.
size_t BatchesBefore(const Graph& graph, size_t s);

// Adds a first component with that number.
void AddNumber(const EnumerateStep& step, uint64_t number, Element& element);

// Runs a step that sees the whole sequence: shard, enumerate, windowed shuffle,
// unbatch, rebatch, window, bucket_by_sequence_length, token_batch, pack,
// batch. `ended`: `in` is complete. `made`: the step's count over all passes.
// `key`: of its random calls in this pass.
Items RunSequenceStep(const Step& step, Items in, bool ended, uint64_t& made,
                      Key key);

}  // namespace feedmill::reference

#endif  // FEEDMILL_TESTS_REFERENCE_SEQUENCE_STEPS_H_
