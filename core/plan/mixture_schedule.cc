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
constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();
using Waits = std::priority_queue<Wait, std::vector<Wait>, std::greater<>>;

}  // namespace

MixtureSchedule::MixtureSchedule(std::vector<MixtureShares> phases) {
  FM_CHECK(!phases.empty() && phases[0].begin == 0);
  for (MixtureShares& phase : phases) {
    Part part(std::move(phase));
    for (size_t i = 0; i < part.shares.size(); ++i) {
      part.before.push_back(parts_.empty() ? 0 : Count(i, part.begin));
    }
    parts_.push_back(std::move(part));
  }
}

uint64_t MixtureSchedule::Count(size_t input, uint64_t n) const {
  const Part& part = PartOf(n);
  return part.before[input] + part.Count(input, n - part.begin);
}

uint64_t MixtureSchedule::IndexOf(size_t input, uint64_t count) const {
  size_t k = parts_.size() - 1;
  while (parts_[k].before[input] > count) --k;
  const Part& part = parts_[k];
  const uint64_t within = part.IndexOf(input, count - part.before[input]);
  uint64_t index = 0;
  return __builtin_add_overflow(part.begin, within, &index) ? kNever : index;
}

MixtureSchedule::Part::Part(MixtureShares phase)
    : begin(phase.begin), shares(std::move(phase.shares)) {
  const uint64_t sum =
      std::accumulate(shares.begin(), shares.end(), uint64_t{0});
  FM_CHECK(sum > 0 && sum <= uint64_t{1} << 31 &&
           shares.size() <= uint64_t{1} << 16);
  inputs.reserve(sum);
  counts.reserve(sum);
  std::vector<uint32_t> given(shares.size(), 0);
  Waits waiting;  // by the time from which the next element may come
  Waits ready;    // by the deadline of the next element
  for (size_t i = 0; i < shares.size(); ++i) {
    if (shares[i] > 0) waiting.emplace(0, static_cast<uint16_t>(i));
  }
  for (uint64_t n = 0; n < sum; ++n) {
    while (!waiting.empty() && waiting.top().first <= n) {
      const uint16_t input = waiting.top().second;
      waiting.pop();
      const uint64_t last = (given[input] + uint64_t{1}) * sum;
      const uint64_t share = shares[input];
      ready.emplace(last / share + (last % share != 0), input);
    }
    FM_CHECK(!ready.empty());
    const uint16_t input = ready.top().second;
    ready.pop();
    inputs.push_back(input);
    counts.push_back(given[input]++);
    waiting.emplace(given[input] * sum / shares[input], input);
  }
}

uint64_t MixtureSchedule::Part::Count(size_t input, uint64_t n) const {
  const uint64_t whole = n / inputs.size() * shares[input];
  uint64_t within = n % inputs.size();
  // The entry of the input's last element before n has the count.
  while (within > 0 && inputs[within - 1] != input) --within;
  return whole + (within == 0 ? 0 : counts[within - 1] + uint64_t{1});
}

uint64_t MixtureSchedule::Part::IndexOf(size_t input, uint64_t count) const {
  if (shares[input] == 0) return kNever;
  const uint64_t within = count % shares[input];
  uint64_t at = 0;
  while (inputs[at] != input || counts[at] != within) ++at;
  uint64_t index = 0;
  if (__builtin_mul_overflow(count / shares[input], uint64_t{inputs.size()},
                             &index) ||
      __builtin_add_overflow(index, at, &index)) {
    return kNever;
  }
  return index;
}

}  // namespace feedmill
