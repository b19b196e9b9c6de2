#ifndef FEEDMILL_TOOLS_COMMAND_TRACE_TRACKS_H_
#define FEEDMILL_TOOLS_COMMAND_TRACE_TRACKS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/collected_trace.h"

namespace feedmill {

// A span of a trace as it is shown: on the dispatcher's clock, within the
// trace, on a track of its process.
struct TrackSpan {
  std::string name;    // "computes", or a step's name
  TraceSpan span;      // begin and end: the dispatcher's clock
  uint64_t track = 0;  // number of the track within the process
};
struct Track {
  uint32_t process = 0;
  uint64_t number = 0;
  std::string name;  // "thread 0", "leased 2"
};
struct TraceTracks {
  std::vector<TrackSpan> spans;  // of a track: by begin; the outer one first
  std::vector<Track> tracks;
};

// Places the spans on tracks so that spans of one track are nested or apart.
// Spans outside of the trace are left out, others are cut at its ends.
TraceTracks MakeTracks(const CollectedTrace& trace);

// The trace as JSON in Chrome's trace event format, which Perfetto opens.
std::string ChromeTraceJson(const CollectedTrace& trace);

// The trace in requests of OTLP/HTTP (ExportTraceServiceRequest as JSON). Each
// split is a trace, with a root span of its whole time.
std::vector<std::string> OtlpRequests(const CollectedTrace& trace);

// Posts the requests to an OTLP/HTTP endpoint, "http://host:4318/v1/traces",
// one after the other. `timeout`: for each. Errors: see HttpFetch;
// Unavailable also if a response rejects spans. They name the endpoint.
absl::Status ExportOtlp(const std::string& url,
                        const std::vector<std::string>& requests,
                        absl::Duration timeout);

}  // namespace feedmill

#endif  // FEEDMILL_TOOLS_COMMAND_TRACE_TRACKS_H_
