#ifndef FEEDMILL_CORE_CHUNK_ROW_STATES_H_
#define FEEDMILL_CORE_CHUNK_ROW_STATES_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "core/chunk/generator_state.h"

namespace feedmill {

// The last states that a process has had, by block and row. Not thread-safe.
class RowStates {
 public:
  // Keeps at most `count_max` states, and at most `bytes_max` bytes or one
  // state. Drops the first ones.
  explicit RowStates(size_t count_max, size_t bytes_max = SIZE_MAX)
      : count_max_(count_max), bytes_max_(bytes_max) {}

  // Keeps a state, unless there is one of this place.
  void Keep(uint64_t block, RowState state) {
    const Place place{block, state.row};
    const size_t size = state.bytes.size();
    if (!states_.try_emplace(place, std::move(state.bytes)).second) return;
    bytes_ += size;
    order_.push_back(place);
    while (order_.size() > count_max_ ||
           (bytes_ > bytes_max_ && order_.size() > 1)) {
      const auto first = states_.find(order_.front());
      bytes_ -= first->second.size();
      states_.erase(first);
      order_.pop_front();
    }
  }

  // Returns the last state of the block at or before the row.
  std::optional<RowState> Before(uint64_t block, uint64_t row) const {
    const auto after = states_.upper_bound({block, row});
    if (after == states_.begin()) return std::nullopt;
    const auto& [at, bytes] = *std::prev(after);
    if (at.first != block) return std::nullopt;
    return RowState{at.second, bytes};
  }

 private:
  using Place = std::pair<uint64_t, uint64_t>;  // block, row

  const size_t count_max_;
  const size_t bytes_max_;
  size_t bytes_ = 0;
  std::map<Place, std::string> states_;
  std::deque<Place> order_;  // as they came
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CHUNK_ROW_STATES_H_
