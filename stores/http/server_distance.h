#ifndef FEEDMILL_STORES_HTTP_SERVER_DISTANCE_H_
#define FEEDMILL_STORES_HTTP_SERVER_DISTANCE_H_

#include <atomic>

#include "absl/time/time.h"

namespace feedmill {

// The distance of servers: the least time from a request to the first byte of
// its answer. Longer times may be queues in front of a busy server or reader.
//
// Thread-safety: one thread adds; any thread asks.
class ServerDistance {
 public:
  // A request waited for its first byte.
  void Add(absl::Duration waited);

  // True if an answer began within a few milliseconds lately. There a few large
  // requests at a time are as fast as many small ones, and cost less.
  bool near() const { return near_; }

 private:
  // The least of the last requests, and of as many before them.
  absl::Duration least_ = absl::InfiniteDuration();
  absl::Duration least_before_ = absl::InfiniteDuration();
  int count_ = 0;
  std::atomic<bool> near_ = false;
};

}  // namespace feedmill

#endif  // FEEDMILL_STORES_HTTP_SERVER_DISTANCE_H_
