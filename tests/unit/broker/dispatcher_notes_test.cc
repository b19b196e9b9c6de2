#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/unit/broker/dispatcher_vocabulary.h"

// Texts for operators: log lines, and the states and waits in the status.

namespace feedmill::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Json = nlohmann::json;

Json JobOf(const Cluster& cluster) {
  return Json::parse(cluster.dispatcher().StatusJson(cluster.now()))["jobs"][0];
}

TEST(Notes, NameWorkersThatComeGoAndComeBack) {
  Cluster cluster;
  Miller& worker = cluster.AddWorker("w1");
  EXPECT_THAT(cluster.TakeNotes(), ElementsAre(HasSubstr("worker w1 joined")));
  worker.says.draining = true;
  worker.Beat();
  EXPECT_THAT(cluster.TakeNotes(), ElementsAre(HasSubstr("worker w1 drains")));
  worker.says.draining = false;
  worker.Beat();
  cluster.Pass(absl::Seconds(5), {}, {});
  EXPECT_THAT(cluster.TakeNotes(),
              ElementsAre(HasSubstr("lost worker w1: its last heartbeat")));
  worker.Beat();
  EXPECT_THAT(cluster.TakeNotes(), ElementsAre(HasSubstr("worker w1 is back")));
}

TEST(Notes, SayThatWritingTheJournalTookLong) {
  Cluster cluster;
  Miller& worker = cluster.AddWorker("w1");
  cluster.TakeNotes();
  cluster.dispatcher().NoteSlowSync(absl::Milliseconds(21'900));
  worker.Beat();
  EXPECT_THAT(cluster.TakeNotes(),
              ElementsAre(HasSubstr("writing the journal took 21.9 s")));
  const Json events =
      Json::parse(cluster.dispatcher().StatusJson(cluster.now()))["events"];
  EXPECT_EQ(events.back()["kind"], "journal");
  EXPECT_EQ(events.back()["warning"], true);
}

TEST(Notes, NameJobsThatBeginAndEnd) {
  Cluster cluster;
  cluster.AddWorker("w1");
  Reader& reader = cluster.AddReader("j", "solo", "range 100").Hello();
  EXPECT_THAT(cluster.TakeNotes(),
              Contains(HasSubstr("job 'j' began iteration 0")));
  reader.Leave();
  EXPECT_THAT(cluster.TakeNotes(),
              ElementsAre(HasSubstr("job 'j' ended iteration 0, left")));
}

TEST(Notes, NameTheEndOfAJobWithoutAName) {
  Cluster cluster;
  cluster.AddWorker("w1");
  Reader& reader = cluster.AddReader("@a", "solo", "range 100").Hello();
  cluster.TakeNotes();
  reader.why = LeaveReason::kCancelled;
  reader.Leave();
  EXPECT_THAT(cluster.TakeNotes(),
              ElementsAre(HasSubstr("job '@a' ended iteration 0, cancelled")));
}

// Fails the job of the reader while its files are being listed.
void FailPlanning(Miller& worker, Reader& reader) {
  reader.Hello();
  worker.Beat();
  ASSERT_FALSE(worker.answer->manifests.empty());
  worker.says.manifests = {{worker.answer->manifests[0].graph_fingerprint,
                            NotFound("no file 'a.csv'"), ""}};
  worker.Beat();
  worker.says.manifests.clear();
  reader.Leave();
}

TEST(Faults, CountFailedJobs) {
  Cluster cluster;
  Miller& worker = cluster.AddWorker("w1");
  const auto failed = [&] {
    return cluster.dispatcher().Snapshot(cluster.now()).faults.jobs_failed;
  };
  FailPlanning(worker, cluster.AddReader("j", "solo", "files 100"));
  EXPECT_EQ(JobOf(cluster)["state"], "failed");
  EXPECT_EQ(failed(), 1u);
  FailPlanning(worker, cluster.AddReader("@1", "solo", "files 101"));
  EXPECT_EQ(failed(), 2u);
  cluster.AddReader("k", "solo", "range 100").Hello();
  const auto cancelled =
      cluster.dispatcher().CancelJob(cluster.now(), JobName("k"));
  EXPECT_TRUE(cancelled.status.ok());
  EXPECT_EQ(failed(), 2u);
}

TEST(States, SayHowReadersEnded) {
  for (const auto& [why, state] :
       {std::pair{LeaveReason::kLeft, "left"},
        std::pair{LeaveReason::kFinished, "finished"},
        std::pair{LeaveReason::kCancelled, "cancelled"}}) {
    Cluster cluster;
    cluster.AddWorker("w1");
    Reader& reader = cluster.AddReader("j", "solo", "range 100").Hello();
    EXPECT_EQ(JobOf(cluster)["state"], "running");
    reader.why = why;
    reader.Leave();
    EXPECT_EQ(JobOf(cluster)["state"], state);
  }
}

TEST(States, AreOfTheRankThatEndedWorst) {
  Cluster cluster;
  cluster.AddWorker("w1");
  Reader& first = cluster.AddReader("j", "0/2", "range 100");
  first.hello().share = {0, 2};
  first.Hello();
  Reader& second = cluster.AddReader("j", "1/2", "range 100");
  second.hello().share = {1, 2};
  second.Hello();
  first.why = LeaveReason::kCancelled;
  first.Leave();
  second.why = LeaveReason::kFinished;
  second.Leave();
  EXPECT_EQ(JobOf(cluster)["state"], "cancelled");
}

TEST(States, AreFinishedAlthoughOneSharerLeft) {
  Cluster cluster;
  cluster.AddWorker("w1");
  Reader& one = cluster.AddReader("j", "a", "range 20", Order::kAny).Hello();
  Reader& two = cluster.AddReader("j", "b", "range 20", Order::kAny).Hello();
  one.Leave();
  EXPECT_EQ(JobOf(cluster)["state"], "running");
  for (int turn = 0; turn < 20; ++turn) two.Beat().FinishAll();
  two.Beat();
  EXPECT_EQ(JobOf(cluster)["state"], "finished");
}

TEST(States, ShowThatAllSharersLeftUntilOneComes) {
  Cluster cluster;
  cluster.AddWorker("w1");
  Reader& one = cluster.AddReader("j", "a", "range 400", Order::kAny).Hello();
  one.why = LeaveReason::kCancelled;
  one.Leave();
  EXPECT_EQ(JobOf(cluster)["state"], "cancelled");
  cluster.AddReader("j", "b", "range 400", Order::kAny).Hello();
  EXPECT_EQ(JobOf(cluster)["state"], "running");
}

TEST(Waits, NameWhatAJobWaitsFor) {
  Cluster cluster;
  Reader& reader = cluster.AddReader("j", "0/2", "range 100");
  reader.hello().share = {0, 2};
  reader.Hello();
  EXPECT_EQ(JobOf(cluster)["waits_for"], "rank 1 of 2");
  EXPECT_EQ(JobOf(cluster)["bound_by"], "consumer");
  Reader& other = cluster.AddReader("j", "1/2", "range 100");
  other.hello().share = {1, 2};
  other.Hello();
  EXPECT_EQ(JobOf(cluster)["waits_for"], "a worker");
  EXPECT_EQ(JobOf(cluster)["bound_by"], "workers");
  cluster.AddWorker("w1");
  EXPECT_FALSE(JobOf(cluster).contains("waits_for"));
  EXPECT_EQ(JobOf(cluster)["bound_by"], "none");
  EXPECT_THAT(JobOf(cluster)["verdict"]["sentence"].get<std::string>(),
              HasSubstr("no reader has reported"));
}

}  // namespace
}  // namespace feedmill::testing
