#include "monitoring/metrics.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace feedmill {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string TextOf(const DispatcherSnapshot& snapshot) {
  MetricList metrics;
  AddDispatcherMetrics(snapshot, metrics);
  return metrics.Text();
}

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != text.npos;
       at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

JobSnapshot Job(const std::string& name) {
  JobSnapshot job;
  job.name = name;
  job.anonymous = name.starts_with('@');
  job.state = "running";
  job.bound_by = "step";
  job.readers = 1;
  job.totals.elements = 7;
  return job;
}

TEST(Metrics, HaveAHelpATypeAndTheirLabels) {
  DispatcherSnapshot snapshot;
  snapshot.jobs = {Job("train")};
  snapshot.jobs[0].steps = {{"steps[0] map", 1.5, 1.25, 3}};
  const std::string text = TextOf(snapshot);
  EXPECT_THAT(text, HasSubstr("# TYPE feedmill_job_elements_total counter\n"));
  EXPECT_THAT(text,
              HasSubstr("feedmill_job_elements_total{job_name=\"train\"} 7\n"));
  EXPECT_THAT(text, HasSubstr("{job_name=\"train\",bound_by=\"step\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("feedmill_step_measured_seconds_total{job_name="
                              "\"train\",step=\"steps[0] map\"} 1.5\n"));
  EXPECT_EQ(Count(text, "# HELP feedmill_job_readers "), 1u);
}

TEST(Metrics, JobsWithoutANameShareOneSeries) {
  DispatcherSnapshot snapshot;
  snapshot.jobs = {Job("@a"), Job("@b")};
  snapshot.anonymous.elements = 30;  // includes jobs that have ended
  const std::string text = TextOf(snapshot);
  EXPECT_THAT(text,
              HasSubstr("feedmill_job_readers{job_name=\"anonymous\"} 2\n"));
  EXPECT_THAT(
      text,
      HasSubstr("feedmill_job_elements_total{job_name=\"anonymous\"} 30\n"));
  EXPECT_THAT(text, Not(HasSubstr("@a")));
}

TEST(Metrics, HaveTheWantedWorkersOnceTheyAreKnown) {
  DispatcherSnapshot snapshot;
  snapshot.jobs = {Job("train")};
  EXPECT_THAT(TextOf(snapshot), Not(HasSubstr("workers_wanted{")));
  EXPECT_THAT(TextOf(snapshot), Not(HasSubstr("feedmill_workers_wanted ")));
  snapshot.workers_wanted = 4;
  snapshot.jobs[0].workers_wanted = 3;
  snapshot.jobs[0].more_workers_help = false;
  const std::string text = TextOf(snapshot);
  EXPECT_THAT(text, HasSubstr("\nfeedmill_workers_wanted 4\n"));
  EXPECT_THAT(text,
              HasSubstr("feedmill_job_workers_wanted{job_name=\"train\"} 3"));
  EXPECT_THAT(
      text, HasSubstr("feedmill_job_more_workers_help{job_name=\"train\"} 0"));
}

TEST(Metrics, AreOfABoundedNumberOfJobsAndWorkers) {
  DispatcherSnapshot snapshot;
  for (size_t k = 0; k < 2 * kJobsShown; ++k) {
    snapshot.jobs.push_back(Job("idle" + std::to_string(k)));
    snapshot.jobs.back().readers = 0;
  }
  snapshot.jobs.push_back(Job("read now"));
  snapshot.workers.resize(2 * kWorkersShown);
  const std::string text = TextOf(snapshot);
  EXPECT_EQ(Count(text, "feedmill_job_readers{"), kJobsShown + 1);
  EXPECT_THAT(text,
              HasSubstr("feedmill_job_readers{job_name=\"read now\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("feedmill_dispatcher_jobs_not_shown 101\n"));
  EXPECT_EQ(Count(text, "feedmill_dispatcher_worker_slots{"), kWorkersShown);
  EXPECT_THAT(text, HasSubstr("feedmill_dispatcher_workers_not_shown 200\n"));
}

TEST(Metrics, ShowTheJobThatEndedLast) {
  DispatcherSnapshot snapshot;
  for (size_t k = 0; k < 2 * kJobsShown; ++k) {
    snapshot.jobs.push_back(Job(fmt::format("a{:03}", k)));
    snapshot.jobs.back().readers = 0;
    snapshot.jobs.back().state = "finished";
    snapshot.jobs.back().idle_since = k + 1;
  }
  snapshot.jobs.push_back(Job("z is read"));
  snapshot.jobs.push_back(Job("z has just failed"));
  snapshot.jobs.back().readers = 0;
  snapshot.jobs.back().state = "failed";
  snapshot.jobs.back().idle_since = 1'000;
  const std::string text = TextOf(snapshot);
  EXPECT_THAT(text, HasSubstr("feedmill_job_state{job_name=\"z has just "
                              "failed\",state=\"failed\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("{job_name=\"z is read\"}"));
  EXPECT_THAT(text, HasSubstr("{job_name=\"a199\"}"));
  EXPECT_THAT(text, Not(HasSubstr("{job_name=\"a000\"}")));
}

TEST(Metrics, ShowAWorkerThatIsSetAside) {
  DispatcherSnapshot snapshot;
  snapshot.workers.resize(2 * kWorkersShown);
  snapshot.workers.back().name = "tcp://z:1";
  snapshot.workers.back().set_aside = true;
  snapshot.workers.back().leases_failed = 4;
  const std::string text = TextOf(snapshot);
  EXPECT_THAT(
      text,
      HasSubstr(
          "feedmill_dispatcher_worker_set_aside{worker=\"tcp://z:1\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("feedmill_dispatcher_worker_leases_failed_total{"
                              "worker=\"tcp://z:1\"} 4\n"));
  EXPECT_EQ(Count(text, "feedmill_dispatcher_worker_slots{"), kWorkersShown);
}

TEST(Metrics, NameThePlanOfAJob) {
  DispatcherSnapshot snapshot;
  snapshot.jobs = {Job("train"), Job("@1"), Job("@2"), Job("@3"),
                   Job("planned later")};
  snapshot.jobs[0].plan = "ab12";
  snapshot.jobs[1].plan = "cd34";
  snapshot.jobs[2].plan = "ef56";
  snapshot.jobs[2].readers = 0;
  snapshot.jobs[3].plan = "cd34";
  const std::string text = TextOf(snapshot);
  EXPECT_THAT(text, HasSubstr("feedmill_job_plan_info{job_name=\"train\",plan="
                              "\"ab12\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("feedmill_job_plan_info{job_name=\"anonymous\","
                              "plan=\"cd34\"} 1\n"));
  EXPECT_EQ(Count(text, "feedmill_job_plan_info{"), 2u);
}

TEST(Metrics, HoldNamesOfAnyBytes) {
  DispatcherSnapshot snapshot;
  snapshot.jobs = {Job("a\"b\\c\nd"), Job("\xff\xfe"),
                   Job(std::string(1'000, 'x'))};
  const std::string text = TextOf(snapshot);
  EXPECT_THAT(text, HasSubstr("job_name=\"a\\\"b\\\\c\\nd\""));
  EXPECT_THAT(text, HasSubstr("job_name=\"?"
                              "?\""));
  EXPECT_THAT(text, Not(HasSubstr(std::string(300, 'x'))));
}

TEST(Metrics, WorkerMetricsNamePlansAndSteps) {
  WorkerStatus status;
  status.registered = true;
  status.load.threads = 2;
  status.load.plans = {
      {PlanId("ab12"), 2, 1, 0, 0, 5, 80, {{4, 1'000'000'000}}}};
  status.places[PlanId("ab12")] = {"other work", "range", "making chunks",
                                   "steps[0] map", "steps[1] decode_image"};
  MetricList metrics;
  AddWorkerMetrics(status, metrics);
  const std::string text = metrics.Text();
  EXPECT_THAT(text, HasSubstr("feedmill_worker_registered 1\n"));
  EXPECT_THAT(text,
              HasSubstr("{plan=\"ab12\",step=\"steps[1] decode_image\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("{plan=\"ab12\",for=\"credit\"} 1\n"));
}

TEST(Metrics, ReaderMetricsAreByJobAndRank) {
  ReaderTotals reader;
  reader.job = "train";
  reader.rank = 3;
  reader.open = 1;
  reader.load.elements = 5;
  reader.load.waited = absl::Milliseconds(1500);
  MetricList metrics;
  AddReaderMetrics({ReaderTotals(), reader}, metrics);
  const std::string text = metrics.Text();
  EXPECT_THAT(text, HasSubstr("feedmill_reader_elements_total{job_name="
                              "\"train\",rank=\"3\"} 5\n"));
  EXPECT_THAT(text, HasSubstr("feedmill_reader_wait_seconds_total{job_name="
                              "\"train\",rank=\"3\"} 1.5\n"));
  EXPECT_THAT(text, HasSubstr("{job_name=\"anonymous\",rank=\"0\"} 0\n"));
}

TEST(Metrics, AreOfABoundedNumberOfReaders) {
  std::vector<ReaderTotals> readers(2 * kReadersShown);
  for (size_t k = 0; k < readers.size(); ++k) readers[k].rank = k;
  readers.back().open = 1;
  MetricList metrics;
  AddReaderMetrics(readers, metrics);
  const std::string text = metrics.Text();
  EXPECT_EQ(Count(text, "feedmill_reader_open{"), kReadersShown);
  EXPECT_THAT(text, HasSubstr("rank=\"199\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("feedmill_readers_not_shown 100\n"));
}

}  // namespace
}  // namespace feedmill
