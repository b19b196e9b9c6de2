#include "tools/command/trace_tracks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace feedmill {
namespace {

// Tracks of spans of one kind, which overlap, begin at multiples of it.
constexpr uint64_t kLanesFrom = 100'000;

bool IsNested(SpanKind kind) {
  return kind == SpanKind::kComputes || kind == SpanKind::kStep ||
         kind == SpanKind::kClientSteps || kind == SpanKind::kHandedOut ||
         kind == SpanKind::kWaits;
}

const char* KindName(SpanKind kind) {
  switch (kind) {
    case SpanKind::kPlanned:
      return "planned";
    case SpanKind::kLeased:
      return "leased";
    case SpanKind::kQueued:
      return "queued";
    case SpanKind::kWaitsForThread:
      return "waits for a thread";
    case SpanKind::kComputes:
      return "computes";
    case SpanKind::kStep:
      return "step";
    case SpanKind::kReady:
      return "ready to send";
    case SpanKind::kBuffered:
      return "buffered";
    case SpanKind::kClientSteps:
      return "client steps";
    case SpanKind::kHandedOut:
      return "handed out";
    case SpanKind::kWaits:
      return "waits for elements";
  }
  return "";
}

std::string NameOf(const CollectedTrace& trace, const TraceSpan& span) {
  if (span.kind != SpanKind::kStep) return KindName(span.kind);
  if (span.place < trace.places.size() && !trace.places[span.place].empty()) {
    return trace.places[span.place];
  }
  return fmt::format("place {}", span.place);
}

// Puts the span on the dispatcher's clock and cuts it. False: it is outside.
bool Place(const CollectedTrace& trace, TraceSpan& span) {
  if (span.process >= trace.processes.size()) return false;
  const absl::Duration offset = trace.processes[span.process].offset;
  span.begin = std::max(trace.begin, span.begin + offset);
  span.end = std::min(trace.end, span.end + offset);
  return span.begin < trace.end && span.begin <= span.end;
}

// Spans of one kind and process, which may overlap: each takes the first free
// track. Spans are added in the order of their begins.
class Lanes {
 public:
  uint64_t Add(const TraceSpan& span) {
    for (size_t lane = 0; lane < free_from_.size(); ++lane) {
      if (free_from_[lane] > span.begin) continue;
      free_from_[lane] = span.end;
      return lane;
    }
    free_from_.push_back(span.end);
    return free_from_.size() - 1;
  }

 private:
  std::vector<absl::Time> free_from_;
};

}  // namespace

TraceTracks MakeTracks(const CollectedTrace& trace) {
  TraceTracks tracks;
  for (const TraceSpan& each : trace.spans) {
    TraceSpan span = each;
    if (!Place(trace, span)) continue;
    tracks.spans.push_back({NameOf(trace, span), span, 0});
  }
  std::stable_sort(tracks.spans.begin(), tracks.spans.end(),
                   [](const TrackSpan& a, const TrackSpan& b) {
                     return std::tuple(a.span.begin, b.span.end, a.span.kind) <
                            std::tuple(b.span.begin, a.span.end, b.span.kind);
                   });
  std::map<std::pair<uint32_t, SpanKind>, Lanes> lanes;
  std::map<std::pair<uint32_t, uint64_t>, std::string> names;
  for (TrackSpan& each : tracks.spans) {
    const TraceSpan& span = each.span;
    std::string name;
    if (span.kind == SpanKind::kComputes || span.kind == SpanKind::kStep) {
      each.track = 1 + uint64_t{span.lane};
      name = fmt::format("thread {}", span.lane);
    } else if (IsNested(span.kind)) {
      each.track = 1;
      name = "trainer";
    } else {
      const uint64_t lane = lanes[{span.process, span.kind}].Add(span);
      each.track = kLanesFrom * static_cast<uint64_t>(span.kind) + lane;
      name = fmt::format("{} {}", KindName(span.kind), lane);
    }
    names.try_emplace({span.process, each.track}, std::move(name));
  }
  for (auto& [track, name] : names) {
    tracks.tracks.push_back({track.first, track.second, std::move(name)});
  }
  return tracks;
}

}  // namespace feedmill
