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

// What Philox's counter is for a record.
struct Counter {
  uint64_t p = 0, i = 0;
};

// An element with the counters of its records (one, or one a batch row), and
// what each enumerate of the plan numbers it.
struct Item {
  Element element;
  std::vector<Counter> counters;
  std::map<size_t, uint64_t> numbers;
  // Of an input: no element, but where one was left out (LeftOut).
  bool left_out = false;
};

struct Items {
  std::vector<Item> items;
  bool failed = false;
  std::string failure;
};

// What `run` makes of those that are elements, with those that are left out
// where the elements before them leave them: behind what these make alone
// (`ended` false), unless that fails.
Items AroundLeftOut(Items in,
                    const std::function<Items(Items in, bool whole)>& run);

// One batch of the rows, whose counters begin at `first`. Throws DataError.
Item MakeBatch(const std::vector<Item>& rows, uint64_t first,
               BatchLayout layout = BatchLayout::kEqual,
               const std::vector<Padding>& padding = {});

// How many batches an element is of, one in another, before step s.
size_t BatchesBefore(const Graph& graph, size_t s);

// A first component more, of that number.
void AddNumber(const EnumerateStep& step, uint64_t number, Element& element);

// Steps that see the whole sequence: shard, enumerate, windowed shuffle,
// unbatch, rebatch, window, bucket_by_sequence_length, token_batch, pack,
// batch. `ended`: no more than `in` will come. `made`: of all passes, what the
// step counts. `key`: of its random calls in this pass.
Items RunSequenceStep(const Step& step, Items in, bool ended, uint64_t& made,
                      Key key);

}  // namespace feedmill::reference

#endif  // FEEDMILL_TESTS_REFERENCE_SEQUENCE_STEPS_H_
