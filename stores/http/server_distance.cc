#include "stores/http/server_distance.h"

#include <algorithm>

namespace feedmill {
namespace {

constexpr int kRemembered = 32;  // requests; then they count as those before
// Stores of another building or region need 10 ms and more. Many limit the rate
// of one connection, so that many requests at a time are faster there.
constexpr absl::Duration kNear = absl::Milliseconds(5);

}  // namespace

void ServerDistance::Add(absl::Duration waited) {
  least_ = std::min(least_, waited);
  near_ = std::min(least_, least_before_) < kNear;
  if (++count_ < kRemembered) return;
  count_ = 0;
  least_before_ = least_;
  least_ = absl::InfiniteDuration();
}

}  // namespace feedmill
