#include "broker/past_lives.h"

namespace feedmill {
namespace {

constexpr size_t kLivesMax = 1'000;  // lives that are kept

}  // namespace

void PastLives::Add(const Life& life, const absl::Status& why) {
  if (why_.emplace(life, why).second) order_.push_back(life);
  if (order_.size() <= kLivesMax) return;
  why_.erase(order_.front());
  order_.pop_front();
}

const absl::Status* PastLives::Find(const Life& life) const {
  const auto it = why_.find(life);
  return it == why_.end() ? nullptr : &it->second;
}

}  // namespace feedmill
