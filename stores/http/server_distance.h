#ifndef FEEDMILL_STORES_HTTP_SERVER_DISTANCE_H_
#define FEEDMILL_STORES_HTTP_SERVER_DISTANCE_H_

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "absl/time/time.h"

namespace feedmill {

// The distance of a server: the least time from a request to the first byte of
// its answer. Longer times may be queues in front of a busy server or reader.
class ServerDistance {
 public:
  // A request waited for its first byte.
  void Add(absl::Duration waited);

  // The distance; InfiniteDuration before the first answer.
  absl::Duration least() const;

 private:
  // The least of the last requests, and of as many before them.
  absl::Duration least_ = absl::InfiniteDuration();
  absl::Duration least_before_ = absl::InfiniteDuration();
  int count_ = 0;
};

// The distances of the servers and buckets that a process reads from.
//
// Thread-safety: any thread.
class ServerDistances {
 public:
  // A request for this URL waited for its first byte.
  void Add(std::string_view url, absl::Duration waited);
  // True if an answer of the server, or the bucket's store, began within a few
  // milliseconds lately. There a few large requests at a time are as fast as
  // many small ones, and cost less. False for a server without answers so far,
  // and for all beyond the first 1,024.
  bool IsNear(std::string_view url) const;
  // The distance of the server; InfiniteDuration if it is not known.
  absl::Duration Of(std::string_view url) const;

 private:
  mutable std::mutex mutex_;
  // By "scheme://server" or "scheme://bucket"; guarded by mutex_.
  std::map<std::string, ServerDistance, std::less<>> by_server_;
};

}  // namespace feedmill

#endif  // FEEDMILL_STORES_HTTP_SERVER_DISTANCE_H_
