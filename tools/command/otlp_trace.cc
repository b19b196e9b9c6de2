#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/time/time.h"
#include "core/base/status.h"
#include "tools/command/trace_tracks.h"

// https://opentelemetry.io/docs/specs/otlp/#otlphttp, JSON encoding: ids are
// hexadecimal, 64-bit numbers are strings.

namespace feedmill {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kSpansPerRequest = 1'000;
constexpr int kInternal = 1;  // SpanKind of OTLP

Json Attribute(const char* key, const std::string& value) {
  return {{"key", key}, {"value", {{"stringValue", value}}}};
}
Json Attribute(const char* key, uint64_t value) {
  return {{"key", key}, {"value", {{"intValue", std::to_string(value)}}}};
}

class OtlpTrace {
 public:
  explicit OtlpTrace(const CollectedTrace& trace) : trace_(trace) {}

  std::vector<std::string> Requests() {
    const TraceTracks tracks = MakeTracks(trace_);
    AddRoots(tracks);
    // The outer span of a track comes first: a step's parent is its task.
    std::map<std::pair<uint32_t, uint64_t>, std::string> task_of;
    for (const TrackSpan& each : tracks.spans) {
      const TraceSpan& span = each.span;
      const bool waits = span.kind == SpanKind::kWaits;
      std::string& task = task_of[{span.process, each.track}];
      const std::string id = NextId();
      std::string parent = waits ? "" : roots_.at(span.split).id;
      if (span.kind == SpanKind::kStep && !task.empty()) parent = task;
      if (span.kind == SpanKind::kComputes) task = id;
      Json attributes = Json::array();
      if (!waits) {
        attributes.push_back(Attribute("feedmill.split", span.split.number));
        attributes.push_back(Attribute("feedmill.rows", span.rows));
        attributes.push_back(Attribute("feedmill.bytes", span.bytes));
      }
      Add(span.process, Span(waits ? TraceId(~uint64_t{span.process})
                                   : TraceId(span.split.number),
                             id, parent, each.name, span.begin, span.end,
                             std::move(attributes)));
    }
    Flush();
    return std::move(requests_);
  }

 private:
  struct Root {
    std::string id;
    absl::Time begin;
    absl::Time end;
  };

  // One trace for each split; spans without a split have one for each process.
  std::string TraceId(uint64_t number) const {
    return fmt::format("{:016x}{:016x}", trace_.id, number);
  }
  std::string NextId() { return fmt::format("{:016x}", ++last_id_); }
  std::string UnixNanos(absl::Time time) const {
    return std::to_string(absl::ToUnixNanos(time + trace_.to_unix));
  }

  Json Span(std::string trace, std::string id, const std::string& parent,
            std::string name, absl::Time begin, absl::Time end,
            Json attributes) const {
    Json span{{"traceId", std::move(trace)}, {"spanId", std::move(id)}};
    if (!parent.empty()) span["parentSpanId"] = parent;
    span["name"] = std::move(name);
    span["kind"] = kInternal;
    span["startTimeUnixNano"] = UnixNanos(begin);
    span["endTimeUnixNano"] = UnixNanos(end);
    span["attributes"] = std::move(attributes);
    return span;
  }

  void AddRoots(const TraceTracks& tracks) {
    for (const TrackSpan& each : tracks.spans) {
      const TraceSpan& span = each.span;
      if (span.kind == SpanKind::kWaits) continue;
      const auto [root, fresh] =
          roots_.try_emplace(span.split, Root{"", span.begin, span.end});
      if (fresh) root->second.id = NextId();
      root->second.begin = std::min(root->second.begin, span.begin);
      root->second.end = std::max(root->second.end, span.end);
    }
    for (const auto& [split, root] : roots_) {
      Add(0, Span(TraceId(split.number), root.id, "",
                  fmt::format("split {}", split.number), root.begin, root.end,
                  {Attribute("feedmill.job", trace_.job),
                   Attribute("feedmill.split", split.number)}));
    }
  }

  void Add(uint32_t process, Json span) {
    spans_[process].push_back(std::move(span));
    if (++count_ >= kSpansPerRequest) Flush();
  }

  void Flush() {
    Json resources = Json::array();
    for (auto& [process, spans] : spans_) {
      const TracedProcess& named = trace_.processes[process];
      Json attributes{Attribute("service.name", std::string("feedmill")),
                      Attribute("service.instance.id", named.name)};
      if (named.uncertainty < absl::InfiniteDuration()) {
        attributes.push_back(
            Attribute("feedmill.clock_uncertainty_ns",
                      static_cast<uint64_t>(
                          absl::ToInt64Nanoseconds(named.uncertainty))));
      }
      Json scope{{"scope", {{"name", "feedmill"}}},
                 {"spans", std::move(spans)}};
      resources.push_back(
          {{"resource", {{"attributes", std::move(attributes)}}},
           {"scopeSpans", Json::array({std::move(scope)})}});
    }
    spans_.clear();
    count_ = 0;
    if (resources.empty()) return;
    requests_.push_back(Json{{"resourceSpans", std::move(resources)}}.dump(
        -1, ' ', false, Json::error_handler_t::replace));
  }

  const CollectedTrace& trace_;
  std::map<SplitId, Root> roots_;
  std::map<uint32_t, Json::array_t> spans_;  // of the next request, by process
  size_t count_ = 0;
  uint64_t last_id_ = 0;
  std::vector<std::string> requests_;
};

}  // namespace

std::vector<std::string> OtlpRequests(const CollectedTrace& trace) {
  return OtlpTrace(trace).Requests();
}

}  // namespace feedmill
