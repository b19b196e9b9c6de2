#ifndef FEEDMILL_CORE_CHUNK_GENERATOR_STATE_H_
#define FEEDMILL_CORE_CHUNK_GENERATOR_STATE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "core/chunk/cursor.h"

namespace feedmill {

// Most bytes of a generator's state. A process that makes elements sends no
// larger one.
inline constexpr size_t kGeneratorStateMax = size_t{32} << 10;
// Most bytes of any state: the place of a stream may have rows that its steps
// hold.
inline constexpr size_t kRowStateMax = size_t{1} << 20;

// The state of a generator's iterator in a block (a shard), before row `row`.
// `bytes` come from the process that runs the user's function, and only such a
// process may read them: they are a pickle.
struct RowState {
  uint64_t row = 0;
  std::string bytes;
};

// The state of a generator before the element at `at`, where at.p is a position
// of the plan and at.i a row of its shard.
struct GeneratorState {
  Cursor at;
  std::string bytes;

  // True if making the elements from `start` on can begin with this state. The
  // elements from `at` to `start` are then made and left out.
  bool LeadsTo(Cursor start) const { return at.p == start.p && at <= start; }
};
using GeneratorStatePtr = std::shared_ptr<const GeneratorState>;

// Returns `state` if it leads to `start`, else null.
inline GeneratorStatePtr StateFor(GeneratorStatePtr state, Cursor start) {
  if (state == nullptr || !state->LeadsTo(start)) return nullptr;
  return state;
}

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CHUNK_GENERATOR_STATE_H_
