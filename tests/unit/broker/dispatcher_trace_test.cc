// Traces of jobs: who is asked for spans, and which requests are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/broker/dispatcher_vocabulary.h"

namespace feedmill::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

TraceRequest TraceOfJob(const std::string& job, uint64_t id = 5) {
  return {JobName(job), id, true, absl::Seconds(2), 0};
}

TraceReport Ask(Cluster& cluster, const TraceRequest& request) {
  StatusRequest question;
  question.trace = request;
  const DispatcherEffects effects =
      cluster.dispatcher().Handle(cluster.now(), PeerId("tool"), question);
  cluster.Carry(effects);
  for (const Outgoing& outgoing : effects.sends) {
    const auto* reply = std::get_if<StatusReply>(&outgoing.message);
    if (reply != nullptr && reply->trace.has_value()) return *reply->trace;
  }
  ADD_FAILURE() << "the request was not answered";
  return {};
}

TraceReport AskAgain(Cluster& cluster, TraceRequest request) {
  request.begin = false;
  return Ask(cluster, request);
}

TEST(Traces, ProcessesOfTheJobGetTheOrderWhileItIsTraced) {
  Cluster cluster;
  Miller& worker = cluster.AddWorker("w1");
  Reader& reader = cluster.AddReader("j", "solo", "range 1000").Hello();
  Reader& other = cluster.AddReader("other", "solo", "range 1000").Hello();
  EXPECT_FALSE(reader.answer->tracing.has_value());
  EXPECT_FALSE(worker.answer->tracing.has_value());
  EXPECT_TRUE(Ask(cluster, TraceOfJob("j")).status.ok());
  ASSERT_TRUE(reader.answer->tracing.has_value());
  EXPECT_THAT(reader.answer->tracing->traces, ElementsAre(5));
  EXPECT_EQ(reader.answer->tracing->clock, cluster.now());
  ASSERT_TRUE(worker.answer->tracing.has_value());
  EXPECT_THAT(worker.answer->tracing->traces, ElementsAre(5));
  for (const Lease& lease : worker.leases()) {
    const bool own = lease.split == reader.split(0).split ||
                     lease.split == reader.split(1).split;
    EXPECT_EQ(lease.trace, own ? 5 : 0) << lease.split.number;
  }
  other.Beat();
  EXPECT_FALSE(other.answer->tracing.has_value());
  cluster.Pass(absl::Seconds(4), {&reader, &other}, {&worker});
  EXPECT_FALSE(reader.answer->tracing.has_value());
  EXPECT_FALSE(worker.answer->tracing.has_value());
  EXPECT_EQ(worker.leases()[0].trace, 0);
  EXPECT_TRUE(AskAgain(cluster, TraceOfJob("j")).complete);
}

TEST(Traces, HaveTheSpansOfTheDispatcherAndThoseThatProcessesSend) {
  Cluster cluster;
  Miller& worker = cluster.AddWorker("w1");
  Reader& reader = cluster.AddReader("j", "solo", "range 1000").Hello();
  Ask(cluster, TraceOfJob("j"));
  cluster.Pass(absl::Milliseconds(100));
  const SplitId split = reader.split(0).split;
  worker.says.spans = {{.trace = 5,
                        .first = 0,
                        .sent = cluster.now(),
                        .down = absl::ZeroDuration(),
                        .spans = {{.kind = SpanKind::kComputes,
                                   .split = split,
                                   .begin = cluster.now(),
                                   .end = cluster.now()}}},
                       {.trace = 6, .first = 0, .sent = {}, .spans = {{}}}};
  worker.Beat();
  reader.Finish(reader.split(0)).Beat();
  const TraceReport report = AskAgain(cluster, TraceOfJob("j"));
  ASSERT_THAT(report.processes, SizeIs(2));
  EXPECT_EQ(report.processes[0].name, "dispatcher");
  EXPECT_EQ(report.processes[1].name, "worker w1");
  EXPECT_EQ(report.processes[1].uncertainty, absl::ZeroDuration());
  const auto count = [&](SpanKind kind, uint32_t process) {
    return std::count_if(report.spans.begin(), report.spans.end(),
                         [&](const TraceSpan& span) {
                           return span.kind == kind && span.split == split &&
                                  span.process == process;
                         });
  };
  EXPECT_EQ(count(SpanKind::kComputes, 1), 1);
  EXPECT_EQ(count(SpanKind::kLeased, 0), 1);
  // Splits that were bound since have both spans.
  const auto planned = std::count_if(
      report.spans.begin(), report.spans.end(),
      [](const TraceSpan& span) { return span.kind == SpanKind::kPlanned; });
  EXPECT_GT(planned, 0);
  TraceRequest rest = TraceOfJob("j");
  rest.begin = false;
  rest.from = report.first + report.spans.size();
  EXPECT_THAT(Ask(cluster, rest).spans, SizeIs(0));
}

TEST(Traces, ReadersAreNamedByTheirJobAndRank) {
  Cluster cluster;
  cluster.AddWorker("w1");
  Reader& first = cluster.AddReader("j", "0/2", "range 1000");
  first.hello().share = {0, 2};
  first.Hello();
  Ask(cluster, TraceOfJob("j"));
  ClientBeat beat{
      .job = JobName("j"),
      .run = RunNumber(1),
      .session = first.hello().session,
      .sent = cluster.now(),
      .splits = {},
      .seen = {},
      .spans = SpanBatch{
          .trace = 5, .first = 0, .sent = cluster.now(), .spans = {}}};
  cluster.Say(first.peer(), beat);
  EXPECT_EQ(AskAgain(cluster, TraceOfJob("j")).processes.at(1).name,
            "reader j rank 0/2");
}

TEST(Traces, RefusalsSayWhy) {
  Cluster cluster;
  cluster.AddWorker("w1");
  Reader& reader = cluster.AddReader("train", "solo", "range 20").Hello();
  const auto why = [&](const TraceRequest& request) {
    return ErrorText(Ask(cluster, request).status);
  };
  EXPECT_EQ(why(TraceOfJob("tran")),
            "there is no job 'tran'; there are 'train'");
  TraceRequest infinite = TraceOfJob("train");
  infinite.duration = absl::InfiniteDuration();
  EXPECT_THAT(why(infinite), HasSubstr("make sense"));
  EXPECT_THAT(ErrorText(AskAgain(cluster, TraceOfJob("train")).status),
              HasSubstr("does not know this trace of job 'train' any more"));
  EXPECT_TRUE(Ask(cluster, TraceOfJob("train")).status.ok());
  EXPECT_TRUE(Ask(cluster, TraceOfJob("train")).status.ok());  // repeated
  EXPECT_THAT(why(TraceOfJob("train", 6)),
              HasSubstr("is being traced by another process for 3s more"));
  reader.FinishAll().Beat();
  reader.Leave();
  EXPECT_THAT(why(TraceOfJob("train", 7)), Not(HasSubstr("no job")));
  cluster.Restart();
  EXPECT_THAT(ErrorText(AskAgain(cluster, TraceOfJob("train")).status),
              HasSubstr("restarted"));
}

TEST(Traces, AJobThatIsOverHasNone) {
  Cluster cluster;
  cluster.AddWorker("w1");
  Reader& reader = cluster.AddReader("train", "solo", "range 20").Hello();
  reader.why = LeaveReason::kCancelled;
  reader.FinishAll().Beat();
  reader.Leave();
  EXPECT_THAT(ErrorText(Ask(cluster, TraceOfJob("train")).status),
              HasSubstr("nothing of it happens now"));
}

TEST(Traces, EndWhenNoToolAsksForThem) {
  Cluster cluster;
  Miller& worker = cluster.AddWorker("w1");
  Reader& reader = cluster.AddReader("j", "solo", "range 1000").Hello();
  TraceRequest request = TraceOfJob("j");
  request.duration = absl::Minutes(5);
  Ask(cluster, request);
  cluster.Pass(absl::Seconds(11), {&reader}, {&worker});
  EXPECT_FALSE(reader.answer->tracing.has_value());
  EXPECT_FALSE(worker.answer->tracing.has_value());
  EXPECT_EQ(AskAgain(cluster, request).status.code(),
            absl::StatusCode::kNotFound);
}

TEST(Traces, AreFewAtATime) {
  Cluster cluster;
  cluster.AddWorker("w1");
  for (uint64_t k = 0; k < 5; ++k) {
    const std::string job = fmt::format("j{}", k);
    cluster.AddReader(job, "solo", "range 1000").Hello();
    EXPECT_EQ(
        Ask(cluster, TraceOfJob(job, k + 1)).status.code(),
        k < 4 ? absl::StatusCode::kOk : absl::StatusCode::kResourceExhausted);
  }
}

}  // namespace
}  // namespace feedmill::testing
