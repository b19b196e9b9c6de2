#include "tools/command/trace_tracks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace feedmill {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using TraceJson = nlohmann::json;

const absl::Time kTraceBegin = absl::UnixEpoch() + absl::Seconds(500);

absl::Time AfterBegin(int64_t milliseconds) {
  return kTraceBegin + absl::Milliseconds(milliseconds);
}

TraceSpan SpanFor(SpanKind kind, uint32_t process, int64_t begin, int64_t end,
                  uint64_t split = 1) {
  return {.kind = kind,
          .split = {JournalId(7), split},
          .begin = AfterBegin(begin),
          .end = AfterBegin(end),
          .to = {5, 0},
          .rows = 5,
          .process = process};
}

// A dispatcher, a worker whose clock is a second behind, and a reader.
CollectedTrace EmptyTrace() {
  CollectedTrace trace;
  trace.job = "train";
  trace.id = 0xab;
  trace.begin = kTraceBegin;
  trace.end = AfterBegin(1'000);
  trace.to_unix = absl::Seconds(1'700'000'000);
  trace.processes = {
      {"dispatcher", absl::ZeroDuration(), absl::ZeroDuration(), 0},
      {"worker w", absl::Seconds(1), absl::Microseconds(20), 2},
      {"reader train", absl::ZeroDuration(), absl::InfiniteDuration(), 0}};
  trace.places = {"", "source", "", "steps[0] map"};
  return trace;
}

CollectedTrace TraceOfASplit() {
  CollectedTrace trace = EmptyTrace();
  trace.spans = {SpanFor(SpanKind::kStep, 1, -890, -880),
                 SpanFor(SpanKind::kLeased, 0, 100, 200),
                 SpanFor(SpanKind::kComputes, 1, -890, -850),
                 SpanFor(SpanKind::kBuffered, 2, 160, 170),
                 SpanFor(SpanKind::kHandedOut, 2, 180, 190),
                 SpanFor(SpanKind::kWaits, 2, 0, 160)};
  trace.spans[0].place = 3;
  trace.spans[1].lane = 1;
  return trace;
}

TEST(TraceTracks, TimesAreOnTheDispatchersClockAndWithinTheTrace) {
  CollectedTrace trace = EmptyTrace();
  trace.spans = {SpanFor(SpanKind::kComputes, 1, -900, -800),
                 SpanFor(SpanKind::kLeased, 0, -50, 5'000),
                 SpanFor(SpanKind::kLeased, 0, -50, -10),      // before it
                 SpanFor(SpanKind::kLeased, 0, 1'100, 1'200),  // after it
                 SpanFor(SpanKind::kLeased, 9, 100, 200)};     // of no process
  const TraceTracks tracks = MakeTracks(trace);
  ASSERT_THAT(tracks.spans, SizeIs(2));
  EXPECT_EQ(tracks.spans[0].span.begin, trace.begin);
  EXPECT_EQ(tracks.spans[0].span.end, trace.end);
  EXPECT_EQ(tracks.spans[1].span.begin, AfterBegin(100));
}

TEST(TraceTracks, OverlappingSpansOfAKindHaveTracksOfTheirOwn) {
  CollectedTrace trace = EmptyTrace();
  trace.spans = {SpanFor(SpanKind::kLeased, 0, 0, 30, 1),
                 SpanFor(SpanKind::kLeased, 0, 10, 20, 2),
                 SpanFor(SpanKind::kLeased, 0, 20, 40, 3)};
  const TraceTracks tracks = MakeTracks(trace);
  ASSERT_THAT(tracks.spans, SizeIs(3));
  EXPECT_NE(tracks.spans[0].track, tracks.spans[1].track);
  EXPECT_EQ(tracks.spans[1].track, tracks.spans[2].track);
  EXPECT_THAT(tracks.tracks, SizeIs(2));
  EXPECT_EQ(tracks.tracks[0].name, "leased 0");
}

TEST(TraceTracks, ATaskComesBeforeItsSteps) {
  const TraceTracks tracks = MakeTracks(TraceOfASplit());
  std::vector<std::string> names;
  for (const TrackSpan& span : tracks.spans) {
    if (span.span.process == 1) names.push_back(span.name);
  }
  EXPECT_THAT(names, ElementsAre("computes", "steps[0] map"));
}

TEST(ChromeTrace, HasSpansArrowsAndWhatIsKnownOfClocks) {
  const auto json = TraceJson::parse(ChromeTraceJson(TraceOfASplit()));
  const auto& about = json["otherData"];
  EXPECT_EQ(about["job"], "train");
  EXPECT_EQ(about["complete"], true);
  EXPECT_EQ(about["processes"][1]["clock_offset_us"], 1e6);
  EXPECT_EQ(about["processes"][1]["clock_uncertainty_us"], 20);
  EXPECT_EQ(about["processes"][1]["lost_spans"], 2);
  EXPECT_TRUE(about["processes"][2]["clock_uncertainty_us"].is_null());
  std::map<std::string, TraceJson> spans;
  std::vector<std::string> arrows;
  for (const TraceJson& event : json["traceEvents"]) {
    if (event["ph"] == "X") spans[event["name"]] = event;
    if (event["ph"] != "X" && event["ph"] != "M") arrows.push_back(event["ph"]);
  }
  EXPECT_EQ(spans["computes"]["ts"], 110'000);
  EXPECT_EQ(spans["computes"]["dur"], 40'000);
  EXPECT_EQ(spans["computes"]["args"]["split"], 1);
  EXPECT_EQ(spans["computes"]["tid"], spans["steps[0] map"]["tid"]);
  EXPECT_EQ(spans["leased"]["args"]["to_process"], "worker w");
  EXPECT_FALSE(spans["waits for elements"]["args"].contains("split"));
  EXPECT_THAT(arrows, ElementsAre("s", "t", "t", "f"));
}

TEST(ChromeTrace, SaysWhyATraceIsIncomplete) {
  CollectedTrace trace = EmptyTrace();
  trace.incomplete = absl::CancelledError("the trace was interrupted");
  trace.job = "\xff";  // no UTF-8
  const auto json = TraceJson::parse(ChromeTraceJson(trace));
  EXPECT_EQ(json["otherData"]["complete"], false);
  EXPECT_EQ(json["otherData"]["incomplete"], "the trace was interrupted");
}

TEST(OtlpTrace, ASplitIsATraceWithARoot) {
  const std::vector<std::string> requests = OtlpRequests(TraceOfASplit());
  ASSERT_THAT(requests, SizeIs(1));
  std::map<std::string, TraceJson> spans;
  const auto body = TraceJson::parse(requests[0]);
  for (const TraceJson& resource : body["resourceSpans"]) {
    for (const TraceJson& span : resource["scopeSpans"][0]["spans"]) {
      spans[span["name"]] = span;
    }
  }
  const TraceJson& root = spans.at("split 1");
  EXPECT_EQ(root["traceId"], "00000000000000ab0000000000000001");
  EXPECT_FALSE(root.contains("parentSpanId"));
  EXPECT_EQ(root["startTimeUnixNano"], "1700000500100000000");
  EXPECT_EQ(root["endTimeUnixNano"], "1700000500200000000");
  EXPECT_EQ(spans.at("computes")["parentSpanId"], root["spanId"]);
  EXPECT_EQ(spans.at("steps[0] map")["parentSpanId"],
            spans.at("computes")["spanId"]);
  EXPECT_FALSE(spans.at("waits for elements").contains("parentSpanId"));
  EXPECT_NE(spans.at("waits for elements")["traceId"], root["traceId"]);
}

TEST(OtlpTrace, ManySpansGoInSeveralRequests) {
  CollectedTrace trace = EmptyTrace();
  for (uint64_t split = 1; split <= 1'500; ++split) {
    trace.spans.push_back(SpanFor(SpanKind::kLeased, 0, 0, 30, split));
  }
  size_t count = 0;
  std::set<std::string> ids;
  const std::vector<std::string> requests = OtlpRequests(trace);
  for (const std::string& request : requests) {
    const auto body = TraceJson::parse(request);
    for (const TraceJson& resource : body["resourceSpans"]) {
      for (const TraceJson& span : resource["scopeSpans"][0]["spans"]) {
        ++count;
        ids.insert(span["spanId"]);
      }
    }
  }
  EXPECT_THAT(requests, SizeIs(3));
  EXPECT_EQ(count, 3'000);
  EXPECT_THAT(ids, SizeIs(3'000));
  EXPECT_THAT(OtlpRequests(EmptyTrace()), IsEmpty());
}

}  // namespace
}  // namespace feedmill
