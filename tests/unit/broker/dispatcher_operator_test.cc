#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/unit/broker/dispatcher_vocabulary.h"

// Requests of operators, and the events that they are shown.

namespace feedmill::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using OperatorJson = nlohmann::json;

OperatorJson StatusOf(const Cluster& cluster) {
  return OperatorJson::parse(cluster.dispatcher().StatusJson(cluster.now()));
}

OperatorJson WorkerOf(const Cluster& cluster, const std::string& address) {
  const OperatorJson status = StatusOf(cluster);
  for (const OperatorJson& worker : status["workers"]) {
    if (worker["address"] == address) return worker;
  }
  return {};
}

std::vector<std::string> EventTexts(const Cluster& cluster) {
  std::vector<std::string> texts;
  for (const OperatorJson& event :
       OperatorJson::parse(cluster.dispatcher().EventsJson(cluster.now()))) {
    texts.push_back(event["text"]);
  }
  return texts;
}

absl::Status Drain(Cluster& cluster, const std::string& worker, bool drains) {
  auto [status, effects] =
      cluster.dispatcher().DrainWorker(cluster.now(), worker, drains);
  cluster.Carry(effects);
  return status;
}

absl::Status Cancel(Cluster& cluster, const std::string& job) {
  auto [status, effects] =
      cluster.dispatcher().CancelJob(cluster.now(), JobName(job));
  cluster.Carry(effects);
  return status;
}

TEST(Operators, DrainAWorkerUntilTheySayOtherwise) {
  Cluster cluster;
  Miller& first = cluster.AddWorker("w1");
  Miller& second = cluster.AddWorker("w2");
  Reader& reader = cluster.AddReader("j", "solo", "range 1000").Hello();
  ASSERT_FALSE(first.Beat().leases().empty());
  cluster.TakeNotes();
  EXPECT_TRUE(Drain(cluster, "w1", true).ok());
  EXPECT_THAT(cluster.TakeNotes(),
              ElementsAre(HasSubstr("an operator drains worker w1")));
  for (int turn = 0; turn < 10; ++turn) {
    reader.FinishAll().Beat();
    first.Beat();
    second.Beat();
  }
  EXPECT_THAT(first.leases(), IsEmpty());
  EXPECT_FALSE(second.leases().empty());
  EXPECT_EQ(WorkerOf(cluster, "w1")["draining"], true);
  EXPECT_EQ(WorkerOf(cluster, "w1")["drain_asked"], true);
  EXPECT_TRUE(Drain(cluster, "w1", true).ok());  // again: no effect
  EXPECT_THAT(cluster.TakeNotes(), IsEmpty());
  EXPECT_TRUE(Drain(cluster, "w1", false).ok());
  reader.FinishAll().Beat();
  EXPECT_FALSE(first.Beat().leases().empty());
  EXPECT_EQ(WorkerOf(cluster, "w1")["draining"], false);
}

TEST(Operators, MayNameAWorkerWithoutItsKey) {
  Cluster cluster;
  cluster.AddWorker("tcp://h:1#abcd");
  EXPECT_TRUE(Drain(cluster, "tcp://h:1", true).ok());
  EXPECT_EQ(Drain(cluster, "tcp://h:2", true).code(),
            absl::StatusCode::kNotFound);
}

TEST(Operators, DrainOneLifeOfAWorker) {
  Cluster cluster;
  Miller& worker = cluster.AddWorker("w1");
  EXPECT_TRUE(Drain(cluster, "w1", true).ok());
  worker.says.incarnation = Incarnation(worker.says.incarnation.value() + 100);
  worker.Beat();
  EXPECT_EQ(WorkerOf(cluster, "w1")["draining"], false);
}

TEST(Operators, DoNotDrainAWorkerThatDrains) {
  Cluster cluster;
  Miller& worker = cluster.AddWorker("w1");
  worker.says.draining = true;
  worker.Beat();
  EXPECT_EQ(Drain(cluster, "w1", true).code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(Operators, CancelAJob) {
  Cluster cluster;
  Miller& worker = cluster.AddWorker("w1");
  Reader& reader = cluster.AddReader("j", "solo", "range 1000").Hello();
  EXPECT_TRUE(Cancel(cluster, "j").ok());
  ASSERT_TRUE(reader.reject.has_value());
  EXPECT_EQ(reader.reject->detail.code(), absl::StatusCode::kCancelled);
  EXPECT_THAT(ErrorText(reader.reject->detail), HasSubstr("an operator"));
  EXPECT_THAT(worker.Beat().leases(), IsEmpty());
  EXPECT_EQ(StatusOf(cluster)["jobs"][0]["state"], "cancelled");
  EXPECT_THAT(cluster.TakeNotes(),
              Contains(HasSubstr("an operator cancelled job 'j'")));
  EXPECT_EQ(Cancel(cluster, "j").code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Cancel(cluster, "k").code(), absl::StatusCode::kNotFound);
  cluster.Restart();
  EXPECT_EQ(StatusOf(cluster)["jobs"][0]["state"], "cancelled");
  EXPECT_TRUE(cluster.AddReader("j", "solo", "range 1000").Hello().live());
}

TEST(Operators, CancelAJobThatIsPlanned) {
  Cluster cluster;
  Reader& reader = cluster.AddReader("j", "solo", "files 100").Hello();
  EXPECT_EQ(StatusOf(cluster)["jobs"][0]["state"], "planning");
  EXPECT_TRUE(Cancel(cluster, "j").ok());
  EXPECT_TRUE(reader.reject.has_value());
}

TEST(Events, TellOfFailedAttemptsThatTheLogLeavesOut) {
  Cluster cluster;
  Miller& worker = cluster.AddWorker("w1");
  cluster.AddReader("j", "solo", "range 1000").Hello();
  cluster.TakeNotes();
  const Lease lease = worker.Beat().leases().at(0);
  worker.says.failures = {
      {lease.split, lease.attempt, NotFound("no file 'a.csv'")}};
  worker.Beat();
  EXPECT_THAT(cluster.TakeNotes(), IsEmpty());
  EXPECT_THAT(EventTexts(cluster),
              Contains(HasSubstr(
                  fmt::format("worker w1 failed at position 0 (split {}) of "
                              "job 'j': no file 'a.csv'",
                              lease.split.number))));
  EXPECT_THAT(StatusOf(cluster)["events"].size(), 3u);
}

TEST(Events, TellOfReadersThatAreFencedAndOfElementsThatAreLeftOut) {
  Cluster cluster;
  cluster.AddWorker("w1");
  Reader& old = cluster.AddReader("j", "solo", "range 1000").Hello();
  Reader& later = cluster.AddReader("j", "solo", "range 1000");
  later.hello().take_over = true;
  later.Hello();
  old.Beat();
  EXPECT_THAT(EventTexts(cluster),
              Contains(HasSubstr("reader 'solo' of job 'j' was fenced")));
  ClientBeat beat;
  beat.job = JobName("j");
  beat.session = {ConsumerId("solo"), Incarnation(3)};
  beat.run = RunNumber(1);
  beat.load.emplace();
  beat.load->elapsed = absl::Seconds(1);
  beat.load->skipped = 2;
  beat.load->skipped_elements = {"record 7 of a.tfrecord: a wrong CRC"};
  cluster.Say(later.peer(), beat);
  EXPECT_THAT(EventTexts(cluster),
              Contains("job 'j' left out 2 elements (on_error), 2 so far"));
  EXPECT_THAT(
      cluster.dispatcher().EventsJson(cluster.now()),
      HasSubstr(R"("records":["record 7 of a.tfrecord: a wrong CRC"])"));
}

TEST(Events, NameAWorkerThatAReaderCannotReach) {
  Cluster cluster;
  Miller& worker = cluster.AddWorker("tcp://h:1#key");
  Reader& reader = cluster.AddReader("j", "solo", "range 1000").Hello();
  ClientBeat beat;
  beat.job = JobName("j");
  beat.session = {ConsumerId("solo"), Incarnation(2)};
  beat.run = RunNumber(1);
  beat.load.emplace();
  for (int seconds = 1; seconds < 4; ++seconds) {
    cluster.Pass(absl::Seconds(1), {}, {&worker});
    beat.load->elapsed = absl::Seconds(seconds);
    beat.load->unreachable = {"tcp://h:1#key"};
    cluster.Say(reader.peer(), beat);
  }
  const std::string text =
      "reader 'solo' of job 'j' cannot reach worker tcp://h:1: check the "
      "worker's --advertise, or read with --via dispatcher";
  EXPECT_THAT(cluster.TakeNotes(), Contains(text));
  EXPECT_THAT(EventTexts(cluster), Contains(text).Times(1));
  const OperatorJson job = StatusOf(cluster)["jobs"][0];
  EXPECT_EQ(job["sessions"][0]["unreachable"],
            OperatorJson::array({"tcp://h:1"}));
  EXPECT_EQ(job["verdict"]["bound_by"], "link");
  EXPECT_EQ(job["verdict"]["where"], "tcp://h:1");
  beat.load->unreachable.clear();
  beat.load->elapsed = absl::Seconds(4);
  cluster.Pass(absl::Seconds(1), {}, {&worker});
  cluster.Say(reader.peer(), beat);
  EXPECT_FALSE(
      StatusOf(cluster)["jobs"][0]["sessions"][0].contains("unreachable"));
}

TEST(Events, NameAWorkerThatCannotWriteACache) {
  Cluster cluster;
  Miller& worker = cluster.AddWorker("w1");
  for (const uint64_t faults : {2u, 2u, 3u}) {
    worker.says.load.emplace();
    worker.says.load->cache_faults = faults;
    worker.says.load->cache_fault = "/cache: No space left on device";
    worker.Beat();
  }
  const std::string rest =
      ", and makes their elements again in each pass; the first: /cache: No "
      "space left on device";
  EXPECT_THAT(
      EventTexts(cluster),
      ElementsAre(HasSubstr("joined"), "worker w1 cannot write 2 caches" + rest,
                  "worker w1 cannot write 1 cache" + rest));
  EXPECT_EQ(StatusOf(cluster)["faults"]["cache_write_failures"], 3);
}

TEST(Status, HasAllEventsIfTheyAreAskedFor) {
  Cluster cluster;
  for (int k = 0; k < 60; ++k) {
    cluster.AddReader(fmt::format("j{}", k), "solo", "range 10").Hello();
  }
  const auto events = [&](bool all) {
    StatusRequest request;
    request.events = all;
    cluster.Say("operator", request);
    const auto& reply = std::get<StatusReply>(cluster.last->message);
    return OperatorJson::parse(reply.json)["events"].size();
  };
  EXPECT_EQ(events(false), 50u);
  EXPECT_EQ(events(true), 60u);
}

TEST(Status, HasReleases) {
  Cluster cluster;
  Miller& worker = cluster.AddWorker("w1");
  cluster.AddWorker("w2");
  worker.says.release = "0.3.0";
  worker.Beat();
  EXPECT_TRUE(StatusOf(cluster)["release"].is_string());
  EXPECT_EQ(WorkerOf(cluster, "w1")["release"], "0.3.0");
  EXPECT_FALSE(WorkerOf(cluster, "w2").contains("release"));
}

TEST(Events, NameSkippedElementsOfJobsWithoutAName) {
  Cluster cluster;
  cluster.AddWorker("w1");
  Reader& reader = cluster.AddReader("@1", "solo", "range 1000").Hello();
  ClientBeat beat;
  beat.job = JobName("@1");
  beat.session = {ConsumerId("solo"), Incarnation(2)};
  beat.run = RunNumber(1);
  beat.load.emplace();
  beat.load->elapsed = absl::Seconds(1);
  beat.load->skipped = 1;
  cluster.Say(reader.peer(), beat);
  EXPECT_THAT(EventTexts(cluster),
              Contains("job '@1' left out 1 element (on_error), 1 so far"));
}

}  // namespace
}  // namespace feedmill::testing
