#ifndef FEEDMILL_MONITORING_EVENT_STREAMS_H_
#define FEEDMILL_MONITORING_EVENT_STREAMS_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace feedmill {

// Sends the same text to many HTTP clients repeatedly, as server-sent events:
// "event: status", or "event: trouble" if the source returns an error. One
// thread serves all streams, so streams use no thread of the server's pool. The
// source is called once for all streams every 250 ms. The interval grows if the
// calls would take more than 1 % of the time. Without a stream the source is
// not called. A client that has not read the last text gets no further text. If
// a client reads nothing for 10 s, its connection is closed.
//
// Thread-safety: every method from any thread.
class EventStreams {
 public:
  using Source = std::function<absl::StatusOr<std::string>()>;
  explicit EventStreams(Source source);
  ~EventStreams();  // ends all streams
  EventStreams(const EventStreams&) = delete;
  EventStreams& operator=(const EventStreams&) = delete;

  // Reserves one of kStreamsMax places. False if no place is free. Add or
  // Release ends the reservation.
  bool Reserve();
  void Release();
  // Takes ownership of the connection and answers its request with the stream.
  // REQUIRES: a reserved place.
  void Add(int fd);

  static constexpr size_t kStreamsMax = 32;

 private:
  class Loop;
  const std::unique_ptr<Loop> loop_;
};

}  // namespace feedmill

#endif  // FEEDMILL_MONITORING_EVENT_STREAMS_H_
