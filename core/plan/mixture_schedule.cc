#include "core/plan/mixture_schedule.h"

#include <functional>
#include <limits>
#include <numeric>
#include <queue>
#include <utility>

#include "core/base/check.h"

namespace feedmill {
namespace {

// A time and the input that waits for it; the earliest is on top of the queue.
using Wait = std::pair<uint64_t, uint16_t>;
using Waits = std::priority_queue<Wait, std::vector<Wait>, std::greater<>>;

}  // namespace

MixtureSchedule::MixtureSchedule(std::vector<uint64_t> shares)
    : shares_(std::move(shares)) {
  const uint64_t sum =
      std::accumulate(shares_.begin(), shares_.end(), uint64_t{0});
  FM_CHECK(sum > 0 && sum <= uint64_t{1} << 31 &&
           shares_.size() <= uint64_t{1} << 16);
  inputs_.reserve(sum);
  counts_.reserve(sum);
  std::vector<uint32_t> given(shares_.size(), 0);
  Waits waiting;  // by the time from which the next element may come
  Waits ready;    // by the deadline of the next element
  for (size_t i = 0; i < shares_.size(); ++i) {
    waiting.emplace(0, static_cast<uint16_t>(i));
  }
  for (uint64_t n = 0; n < sum; ++n) {
    while (!waiting.empty() && waiting.top().first <= n) {
      const uint16_t input = waiting.top().second;
      waiting.pop();
      const uint64_t last = (given[input] + uint64_t{1}) * sum;
      const uint64_t share = shares_[input];
      ready.emplace(last / share + (last % share != 0), input);
    }
    FM_CHECK(!ready.empty());
    const uint16_t input = ready.top().second;
    ready.pop();
    inputs_.push_back(input);
    counts_.push_back(given[input]++);
    waiting.emplace(given[input] * sum / shares_[input], input);
  }
}

uint64_t MixtureSchedule::Count(size_t input, uint64_t n) const {
  const uint64_t whole = n / inputs_.size() * shares_[input];
  uint64_t within = n % inputs_.size();
  // The entry of the input's last element before n has the count.
  while (within > 0 && inputs_[within - 1] != input) --within;
  return whole + (within == 0 ? 0 : counts_[within - 1] + uint64_t{1});
}

uint64_t MixtureSchedule::IndexOf(size_t input, uint64_t count) const {
  const uint64_t within = count % shares_[input];
  uint64_t at = 0;
  while (inputs_[at] != input || counts_[at] != within) ++at;
  uint64_t index = 0;
  if (__builtin_mul_overflow(count / shares_[input], uint64_t{inputs_.size()},
                             &index) ||
      __builtin_add_overflow(index, at, &index)) {
    return std::numeric_limits<uint64_t>::max();
  }
  return index;
}

}  // namespace feedmill
