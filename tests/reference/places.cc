#include "tests/reference/places.h"

#include <algorithm>

namespace feedmill::reference {

std::vector<Position> Taken(const TakeStep& step, std::vector<Position> in) {
  in.resize(std::min(in.size(), static_cast<size_t>(step.count)));
  return in;
}

std::vector<Position> Skipped(const SkipStep& step, std::vector<Position> in) {
  const size_t from = std::min(in.size(), static_cast<size_t>(step.count));
  return {in.begin() + static_cast<ptrdiff_t>(from), in.end()};
}

std::vector<Position> Sharded(const ShardStep& step, std::vector<Position> in) {
  std::vector<Position> out;
  for (size_t j = static_cast<size_t>(step.index); j < in.size();
       j += static_cast<size_t>(step.count))
    out.push_back(in[j]);
  return out;
}

std::vector<Position> Batched(const BatchStep& step, std::vector<Position> in) {
  std::vector<Position> out;
  for (size_t j = 0; j < in.size(); ++j) {
    if (j % static_cast<size_t>(step.size) == 0) out.emplace_back();
    out.back().insert(out.back().end(), in[j].begin(), in[j].end());
  }
  if (step.drop_remainder && !out.empty() &&
      out.back().size() < static_cast<size_t>(step.size))
    out.pop_back();
  return out;
}

}  // namespace feedmill::reference
