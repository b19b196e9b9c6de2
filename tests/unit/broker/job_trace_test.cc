#include "broker/job_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace feedmill {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

const absl::Time kTraceBegin = absl::UnixEpoch() + absl::Hours(1);
const JobTrace::Process kTracedReader{"reader j", Incarnation(3)};

absl::Time AfterBegin(int64_t milliseconds) {
  return kTraceBegin + absl::Milliseconds(milliseconds);
}

SplitId TracedSplit(uint64_t number) { return {JournalId(7), number}; }

JobTrace TenSeconds() {
  return {9, kTraceBegin, absl::Seconds(10), absl::Seconds(1)};
}

SpanBatch BatchOf(uint64_t first, size_t count) {
  SpanBatch batch{.trace = 9, .first = first, .sent = kTraceBegin, .spans = {}};
  for (size_t k = 0; k < count; ++k) {
    batch.spans.push_back({.kind = SpanKind::kBuffered,
                           .split = TracedSplit(first + k),
                           .begin = AfterBegin(1),
                           .end = AfterBegin(2)});
  }
  return batch;
}

LeaseRef LeaseTo(const std::string& worker, uint64_t attempt = 1) {
  return {WorkerId(worker), Incarnation(2), Attempt(attempt)};
}

TEST(JobTrace, ASplitIsPlannedUntilItIsLeasedAndLeasedUntilItEnds) {
  JobTrace trace = TenSeconds();
  trace.NoteBound(AfterBegin(10), TracedSplit(1), {0, 0}, {5, 0});
  trace.NoteLeases(AfterBegin(30), TracedSplit(1), {0, 0}, {5, 0},
                   {LeaseTo("w1")}, true);
  trace.NoteOver(AfterBegin(90), TracedSplit(1));
  const TraceReport report = trace.Report(AfterBegin(100), 0);
  ASSERT_THAT(report.spans, SizeIs(2));
  EXPECT_EQ(report.spans[0].kind, SpanKind::kPlanned);
  EXPECT_EQ(report.spans[0].begin, AfterBegin(10));
  EXPECT_EQ(report.spans[0].end, AfterBegin(30));
  EXPECT_EQ(report.spans[1].kind, SpanKind::kLeased);
  EXPECT_EQ(report.spans[1].begin, AfterBegin(30));
  EXPECT_EQ(report.spans[1].end, AfterBegin(90));
  EXPECT_EQ(report.spans[1].to, (Cursor{5, 0}));
  EXPECT_EQ(report.processes.at(report.spans[1].lane).name, "worker w1");
  EXPECT_THAT(trace.open(), IsEmpty());
}

TEST(JobTrace, ASecondAttemptIsASpanOfItsOwn) {
  JobTrace trace = TenSeconds();
  const auto note = [&](int64_t at, const std::vector<LeaseRef>& leases) {
    trace.NoteLeases(AfterBegin(at), TracedSplit(1), {}, {5, 0}, leases, true);
  };
  note(0, {LeaseTo("w1")});
  note(10, {LeaseTo("w1"), LeaseTo("w2", 2)});
  note(20, {LeaseTo("w2", 2)});
  note(30, {});  // lost: it waits again
  note(40, {LeaseTo("w3", 3)});
  const TraceReport report = trace.Report(AfterBegin(50), 0);
  ASSERT_THAT(report.spans, SizeIs(3));
  EXPECT_EQ(report.spans[0].attempt, Attempt(1));
  EXPECT_EQ(report.spans[1].attempt, Attempt(2));
  EXPECT_EQ(report.spans[1].end, AfterBegin(30));
  EXPECT_EQ(report.spans[2].kind, SpanKind::kPlanned);
  EXPECT_EQ(report.spans[2].begin, AfterBegin(30));
}

TEST(JobTrace, ItsEndClosesWhatIsOpen) {
  JobTrace trace = TenSeconds();
  trace.NoteLeases(AfterBegin(0), TracedSplit(1), {}, {5, 0}, {LeaseTo("w1")},
                   true);
  trace.NoteBound(AfterBegin(9'000), TracedSplit(2), {}, {5, 0});
  trace.NoteLeases(AfterBegin(10'200), TracedSplit(2), {}, {5, 0},
                   {LeaseTo("w2")}, true);  // too late to be seen
  EXPECT_FALSE(trace.TakeEnd(AfterBegin(10'500)));
  EXPECT_FALSE(trace.Report(AfterBegin(10'500), 0).complete);
  EXPECT_TRUE(trace.TakeEnd(AfterBegin(11'000)));
  EXPECT_FALSE(trace.TakeEnd(AfterBegin(11'100)));
  const TraceReport report = trace.Report(AfterBegin(11'100), 0);
  EXPECT_TRUE(report.complete);
  ASSERT_THAT(report.spans, SizeIs(1));
  EXPECT_EQ(report.spans[0].end, trace.end());
  trace.NoteBound(AfterBegin(11'200), TracedSplit(3), {}, {5, 0});
  EXPECT_THAT(trace.open(), IsEmpty());
}

TEST(JobTrace, CountsSpansThatAreMissingAndLeavesOutThoseThatCameBefore) {
  JobTrace trace = TenSeconds();
  trace.Add(AfterBegin(5), kTracedReader, BatchOf(0, 2));
  trace.Add(AfterBegin(5), kTracedReader, BatchOf(0, 2));  // a repeated leave
  trace.Add(AfterBegin(5), kTracedReader, BatchOf(1, 2));
  trace.Add(AfterBegin(5), kTracedReader,
            BatchOf(7, 1));  // 3 to 6 were dropped
  const TraceReport report = trace.Report(AfterBegin(6), 0);
  EXPECT_THAT(report.spans, SizeIs(4));
  ASSERT_THAT(report.processes, SizeIs(2));
  EXPECT_EQ(report.processes[1].name, "reader j");
  EXPECT_EQ(report.processes[1].lost, 4);
}

TEST(JobTrace, IgnoresKindsThatItDoesNotKnow) {
  JobTrace trace = TenSeconds();
  SpanBatch batch = BatchOf(0, 1);
  batch.spans[0].kind = static_cast<SpanKind>(99);
  trace.Add(AfterBegin(5), kTracedReader, batch);
  EXPECT_THAT(trace.Report(AfterBegin(6), 0).spans, IsEmpty());
}

TEST(JobTrace, KeepsABoundedNumberOfSpansAndCountsTheOthers) {
  JobTrace trace = TenSeconds();
  constexpr size_t kBatch = 10'000;
  for (size_t k = 0; k <= JobTrace::kSpansMax / kBatch; ++k) {
    trace.Add(AfterBegin(5), kTracedReader, BatchOf(k * kBatch, kBatch));
  }
  TraceReport report = trace.Report(AfterBegin(6), 0);
  EXPECT_THAT(report.spans, SizeIs(JobTrace::kReportMax));
  EXPECT_EQ(report.lost, kBatch);
  EXPECT_FALSE(report.complete);
  report = trace.Report(AfterBegin(6), JobTrace::kSpansMax - 1);
  EXPECT_EQ(report.first, JobTrace::kSpansMax - 1);
  EXPECT_THAT(report.spans, SizeIs(1));
}

// The reader's clock is two seconds ahead; messages take 3 ms and 5 ms.
TEST(JobTrace, EstimatesHowClocksDifferFromRoundTrips) {
  JobTrace trace = TenSeconds();
  const absl::Duration ahead = absl::Seconds(2);
  SpanBatch batch = BatchOf(0, 0);
  batch.sent = AfterBegin(10) + ahead;
  EXPECT_EQ(batch.down, absl::InfiniteDuration());
  trace.Add(AfterBegin(13), kTracedReader, batch);
  EXPECT_EQ(trace.Report(AfterBegin(14), 0).processes[1].uncertainty,
            absl::InfiniteDuration());
  batch.down = ahead + absl::Milliseconds(5);
  batch.sent = AfterBegin(20) + ahead;
  trace.Add(AfterBegin(60), kTracedReader, batch);  // this one took longer
  const TracedProcess process = trace.Report(AfterBegin(61), 0).processes[1];
  EXPECT_EQ(process.uncertainty, absl::Milliseconds(4));
  EXPECT_LE(absl::AbsDuration(process.offset + ahead), process.uncertainty);
}

}  // namespace
}  // namespace feedmill
