#include "stores/http/server_distance.h"

#include <algorithm>

namespace feedmill {
namespace {

constexpr int kRemembered = 32;  // requests; then they count as those before
// Stores of another building or region need 10 ms and more. Many limit the rate
// of one connection, so that many requests at a time are faster there.
constexpr absl::Duration kNear = absl::Milliseconds(5);
constexpr size_t kServersMax = 1'024;

// Returns "http://host:80" of "http://host:80/a/b".
std::string_view ServerOf(std::string_view url) {
  const size_t scheme = url.find("://");
  return url.substr(0, scheme == url.npos ? 0 : url.find('/', scheme + 3));
}

}  // namespace

void ServerDistance::Add(absl::Duration waited) {
  least_ = std::min(least_, waited);
  if (++count_ < kRemembered) return;
  count_ = 0;
  least_before_ = least_;
  least_ = absl::InfiniteDuration();
}

absl::Duration ServerDistance::least() const {
  return std::min(least_, least_before_);
}

void ServerDistances::Add(std::string_view url, absl::Duration waited) {
  const std::string_view server = ServerOf(url);
  const std::lock_guard lock(mutex_);
  auto found = by_server_.find(server);
  if (found == by_server_.end()) {
    if (by_server_.size() >= kServersMax) return;
    found = by_server_.try_emplace(std::string(server)).first;
  }
  found->second.Add(waited);
}

bool ServerDistances::IsNear(std::string_view url) const {
  return Of(url) < kNear;
}

absl::Duration ServerDistances::Of(std::string_view url) const {
  const std::lock_guard lock(mutex_);
  const auto found = by_server_.find(ServerOf(url));
  return found == by_server_.end() ? absl::InfiniteDuration()
                                   : found->second.least();
}

}  // namespace feedmill
