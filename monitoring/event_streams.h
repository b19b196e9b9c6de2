#ifndef FEEDMILL_MONITORING_EVENT_STREAMS_H_
#define FEEDMILL_MONITORING_EVENT_STREAMS_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace feedmill {

// Sends the same text to many HTTP clients again and again, as server-sent
// events: "event: status", or "event: trouble" while there is none. One thread
// serves all streams, so they take no thread of the server's pool. The text is
// made once for all streams, every 250 ms, or seldomer if making it takes more
// than 1 % of the time, and not at all without a stream. A client that has not
// read the last text gets no further one; if it reads nothing for 10 s, its
// connection ends.
//
// Thread-safety: every method from any thread.
class EventStreams {
 public:
  using Source = std::function<absl::StatusOr<std::string>()>;
  explicit EventStreams(Source source);
  ~EventStreams();  // ends all streams
  EventStreams(const EventStreams&) = delete;
  EventStreams& operator=(const EventStreams&) = delete;

  // Reserves one of kStreamsMax places; false if there is none. Add or Release
  // ends the reservation.
  bool Reserve();
  void Release();
  // Takes the connection over, and answers it. REQUIRES: a reserved place.
  void Add(int fd);

  static constexpr size_t kStreamsMax = 32;

 private:
  class Loop;
  const std::unique_ptr<Loop> loop_;
};

}  // namespace feedmill

#endif  // FEEDMILL_MONITORING_EVENT_STREAMS_H_
