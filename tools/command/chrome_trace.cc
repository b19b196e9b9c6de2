#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/time/time.h"
#include "core/base/status.h"
#include "tools/command/trace_tracks.h"

// https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU

namespace feedmill {
namespace {

using Json = nlohmann::ordered_json;

double Microseconds(absl::Duration duration) {
  return static_cast<double>(absl::ToInt64Nanoseconds(duration)) / 1e3;
}

class ChromeTrace {
 public:
  explicit ChromeTrace(const CollectedTrace& trace) : trace_(trace) {}

  std::string Text() {
    const TraceTracks tracks = MakeTracks(trace_);
    AddNames(tracks);
    for (const TrackSpan& span : tracks.spans) AddSpan(span);
    for (const TrackSpan& span : tracks.spans) NoteArrow(span);
    AddArrows();
    return fmt::format(
        "{{\"displayTimeUnit\":\"ms\",\"otherData\":{},\"traceEvents\":[\n{}\n"
        "]}}\n",
        Dumped(About()), fmt::join(events_, ",\n"));
  }

 private:
  // Names need not be UTF-8.
  static std::string Dumped(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  void Add(const Json& event) { events_.push_back(Dumped(event)); }
  double At(absl::Time time) const { return Microseconds(time - trace_.begin); }
  static uint64_t Pid(uint32_t process) { return process + 1; }

  Json About() const {
    Json processes = Json::array();
    for (const TracedProcess& process : trace_.processes) {
      const bool known = process.uncertainty < absl::InfiniteDuration();
      processes.push_back(
          {{"name", process.name},
           {"clock_offset_us", Microseconds(process.offset)},
           {"clock_uncertainty_us",
            known ? Json(Microseconds(process.uncertainty)) : Json()},
           {"lost_spans", process.lost}});
    }
    Json about{
        {"job", trace_.job},
        {"clock", "of the dispatcher; 0 is the begin of the trace"},
        {"begin_unix_ns", absl::ToUnixNanos(trace_.begin + trace_.to_unix)},
        {"seconds", absl::ToDoubleSeconds(trace_.end - trace_.begin)},
        {"lost_spans", trace_.lost},
        {"complete", trace_.incomplete.ok()},
        {"processes", std::move(processes)}};
    if (!trace_.incomplete.ok()) {
      about["incomplete"] = ErrorText(trace_.incomplete);
    }
    return about;
  }

  void AddNames(const TraceTracks& tracks) {
    for (uint32_t k = 0; k < trace_.processes.size(); ++k) {
      const TracedProcess& process = trace_.processes[k];
      Add({{"ph", "M"},
           {"pid", Pid(k)},
           {"name", "process_name"},
           {"args", {{"name", process.name}}}});
      Add({{"ph", "M"},
           {"pid", Pid(k)},
           {"name", "process_sort_index"},
           {"args", {{"sort_index", k}}}});
    }
    for (const Track& track : tracks.tracks) {
      Add({{"ph", "M"},
           {"pid", Pid(track.process)},
           {"tid", track.number},
           {"name", "thread_name"},
           {"args", {{"name", track.name}}}});
      Add({{"ph", "M"},
           {"pid", Pid(track.process)},
           {"tid", track.number},
           {"name", "thread_sort_index"},
           {"args", {{"sort_index", track.number}}}});
    }
  }

  void AddSpan(const TrackSpan& each) {
    const TraceSpan& span = each.span;
    Json args = Json::object();
    if (span.kind != SpanKind::kWaits) {
      args["split"] = span.split.number;
      if (span.attempt.value() > 0) args["attempt"] = span.attempt.value();
      args["from"] = {span.from.p, span.from.i};
      args["to"] = {span.to.p, span.to.i};
    }
    if (span.rows > 0) args["rows"] = span.rows;
    if (span.bytes > 0) args["bytes"] = span.bytes;
    if (span.kind == SpanKind::kLeased && span.lane < trace_.processes.size()) {
      args["to_process"] = trace_.processes[span.lane].name;
    }
    Add({{"ph", "X"},
         {"name", each.name},
         {"cat", span.kind == SpanKind::kStep ? "step" : "split"},
         {"pid", Pid(span.process)},
         {"tid", each.track},
         {"ts", At(span.begin)},
         {"dur", Microseconds(span.end - span.begin)},
         {"args", std::move(args)}});
  }

  // A split's arrow goes from its lease through its first task and the first
  // piece that arrives to the first one that is handed out.
  void NoteArrow(const TrackSpan& each) {
    const auto stage = [&]() -> std::optional<size_t> {
      switch (each.span.kind) {
        case SpanKind::kLeased:
          return 0;
        case SpanKind::kComputes:
          return 1;
        case SpanKind::kBuffered:
          return 2;
        case SpanKind::kHandedOut:
          return 3;
        default:
          return std::nullopt;
      }
    }();
    if (stage.has_value()) arrows_[each.span.split].emplace(*stage, &each);
  }

  void AddArrows() {
    for (const auto& [split, stops] : arrows_) {
      if (stops.size() < 2) continue;
      for (const auto& [stage, stop] : stops) {
        const bool first = stage == stops.begin()->first;
        const bool last = stage == stops.rbegin()->first;
        Json event{{"ph", first  ? "s"
                          : last ? "f"
                                 : "t"},
                   {"name", "split"},
                   {"cat", "split"},
                   {"id", split.number},
                   {"pid", Pid(stop->span.process)},
                   {"tid", stop->track},
                   {"ts", At(stop->span.begin)}};
        if (last) event["bp"] = "e";
        Add(event);
      }
    }
  }

  const CollectedTrace& trace_;
  std::vector<std::string> events_;
  std::map<SplitId, std::map<size_t, const TrackSpan*>> arrows_;
};

}  // namespace

std::string ChromeTraceJson(const CollectedTrace& trace) {
  return ChromeTrace(trace).Text();
}

}  // namespace feedmill
