// Runs in mode off: a whole pass per worker.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/broker/dispatcher_vocabulary.h"

namespace feedmill::testing {
namespace {

constexpr char kGraph[] = "passes 20";

Reader& AddSolo(Cluster& cluster, uint64_t passes = 0, bool settled = false) {
  Reader& reader = cluster.AddReader("j", "solo", kGraph);
  reader.hello().passes = passes;
  reader.hello().settled = settled;
  return reader;
}

Reader& AddRankWithPasses(Cluster& cluster, uint64_t rank, uint64_t passes,
                          bool settled = false) {
  Reader& reader = cluster.AddReader("j", fmt::format("{}/3", rank), kGraph);
  reader.hello().share = {rank, 3};
  reader.hello().run = RunNumber(1);
  reader.hello().passes = passes;
  reader.hello().settled = settled;
  return reader;
}

// Reads until the next split begins at or after `position`.
void ReadTo(Reader& reader, uint64_t position) {
  for (int turn = 0; turn < 1'000 && !reader.splits().empty() &&
                     reader.split(0).begin.p < position;
       ++turn) {
    reader.FinishAll().Beat();
  }
}

TEST(Passes, AreOneForEachWorkerThatIsThereOrComes) {
  Cluster cluster;
  cluster.AddWorker("w1");
  cluster.AddWorker("w2");
  Reader& reader = AddSolo(cluster).Hello();
  ASSERT_TRUE(reader.live());
  EXPECT_EQ(reader.answer->run->passes, 2);
  EXPECT_EQ(reader.answer->run->positions, 40);
  EXPECT_FALSE(reader.answer->run->settled);
  const PlanId plan = reader.answer->run->plan;
  reader.Forget();
  cluster.AddWorker("w3");  // the reader gets an answer at once
  ASSERT_TRUE(reader.live());
  EXPECT_EQ(reader.answer->run->passes, 3);
  EXPECT_EQ(reader.answer->run->positions, 60);
  EXPECT_EQ(reader.answer->run->plan, plan);
}

TEST(Passes, AWorkerInThePlaceOfALostOneAddsNone) {
  Cluster cluster;
  Miller& first = cluster.AddWorker("w1");
  cluster.AddWorker("w2");
  Reader& reader = AddSolo(cluster).Hello();
  cluster.Pass(absl::Seconds(2), {&reader}, {&first});  // w2 is lost
  cluster.AddWorker("w3");
  first.says.draining = true;
  first.Beat();
  cluster.AddWorker("w4");
  EXPECT_EQ(cluster.job("j")->passes, 2);
}

TEST(Passes, AreFinalWhenTheFirstHasEnded) {
  Cluster cluster;
  cluster.AddWorker("w1", 8);
  cluster.AddWorker("w2", 8);
  Reader& reader = AddSolo(cluster).Hello();
  ReadTo(reader, 20);
  EXPECT_TRUE(reader.answer->run->settled);
  cluster.AddWorker("w3", 8);
  ReadTo(reader, 40);
  EXPECT_EQ(reader.answer->run->positions, 40);
  EXPECT_TRUE(reader.answer->finished);
  EXPECT_EQ(cluster.job("j")->ending, RunEnding::kFinished);
}

TEST(Passes, TheOneReaderOfOnePassHearsOfItsEnd) {
  Cluster cluster;
  cluster.AddWorker("w1", 8);
  Reader& reader = AddSolo(cluster).Hello();
  for (int turn = 0; turn < 100 && !reader.answer->run->settled; ++turn) {
    reader.FinishAll().Beat();
  }
  EXPECT_TRUE(reader.answer->run->settled);
  EXPECT_EQ(reader.answer->run->positions, 20);
}

TEST(Passes, AreFinalForOtherRanksWhenOneLeaves) {
  Cluster cluster;
  cluster.AddWorker("w1");
  Reader& first = AddSolo(cluster);
  first.hello().session.consumer = ConsumerId("0/2");
  first.hello().share = {0, 2};
  first.Hello();
  Reader& second = cluster.AddReader("j", "1/2", kGraph);
  second.hello().share = {1, 2};
  second.Hello();
  first.Leave();
  cluster.AddWorker("w2");
  EXPECT_EQ(cluster.job("j")->passes, 1);
  EXPECT_TRUE(cluster.job("j")->settled);
}

TEST(Passes, OutliveADispatcher) {
  Cluster cluster;
  cluster.AddWorker("w1", 8);
  Miller& second = cluster.AddWorker("w2", 8);
  Reader& reader = AddSolo(cluster).Hello();
  cluster.Restart();  // no peer has returned
  second.Beat();
  EXPECT_EQ(cluster.job("j")->passes, 2);
  ReadTo(reader, 20);
  cluster.Restart();
  for (const char* name : {"w1", "w2", "w3"}) cluster.AddWorker(name, 8);
  EXPECT_EQ(cluster.job("j")->passes, 2);
  EXPECT_TRUE(cluster.job("j")->settled);
}

TEST(Passes, AreAsManyAsAReaderKnowsOf) {
  Cluster cluster;
  cluster.AddWorker("w1");
  Reader& reader = AddSolo(cluster, 3);
  reader.hello().run = RunNumber(1);
  reader.hello().cursor = {5, 0};
  reader.Hello();
  ASSERT_TRUE(reader.live());
  EXPECT_EQ(reader.answer->run->positions, 60);
  EXPECT_FALSE(reader.answer->run->settled);
  for (const char* name : {"w2", "w3", "w4"}) cluster.AddWorker(name);
  EXPECT_EQ(reader.answer->run->positions, 80);
}

TEST(Passes, AreExactlyAsManyAsAReaderKnowsToBeFinal) {
  Cluster cluster;
  for (const char* name : {"w1", "w2", "w3"}) cluster.AddWorker(name);
  Reader& reader = AddSolo(cluster, 2, true);
  reader.hello().run = RunNumber(1);
  reader.hello().cursor = {25, 0};
  reader.Hello();
  ASSERT_TRUE(reader.live());
  EXPECT_EQ(reader.answer->run->positions, 40);
  EXPECT_TRUE(reader.answer->run->settled);
  EXPECT_EQ(reader.split(0).begin, (Cursor{25, 0}));
}

// A dispatcher that lost everything first meets the rank that knew least. More
// passes were only possible: no rank reads the second pass before their
// number is final (P-190).
TEST(Passes, AreExactlyAsManyAsARankKnowsThatIsHeardLater) {
  for (const uint64_t known : {2U, 5U}) {
    Cluster cluster;
    cluster.AddWorker("w1");
    Reader& first = AddRankWithPasses(cluster, 0, 3);
    first.Hello();
    ReadTo(first, 4);
    EXPECT_EQ(cluster.job("j")->passes, 3);
    Reader& second = AddRankWithPasses(cluster, 1, known, true);
    second.hello().cursor = {25, 0};
    first.Forget();
    second.Hello();
    EXPECT_TRUE(first.answer->run->settled);
    EXPECT_EQ(first.answer->run->positions, 20 * known);
    EXPECT_EQ(second.answer->run->positions, 20 * known);
    first.Beat();  // positions that are not out are bound again
    const uint64_t begin = first.split(0).begin.p;
    EXPECT_GE(begin, 4);
    EXPECT_LT(begin, 20);
    ReadTo(first, 20 * known);
    EXPECT_TRUE(first.splits().empty());
    cluster.Restart();  // the journal is readable
    EXPECT_EQ(cluster.job("j")->positions, 20 * known);
  }
}

TEST(Passes, StayFinalForARankThatKnowsAnotherNumber) {
  Cluster cluster;
  cluster.AddWorker("w1");
  Reader& first = AddRankWithPasses(cluster, 0, 2, true);
  first.hello().cursor = {25, 0};
  first.Hello();
  Reader& second =
      AddRankWithPasses(cluster, 1, 3);  // has nothing of the second pass
  second.hello().cursor = {5, 0};
  second.Hello();
  EXPECT_EQ(second.answer->run->positions, 40);
  Reader& third = AddRankWithPasses(cluster, 2, 3, true);
  third.hello().cursor = {45, 0};
  third.Hello();
  ASSERT_TRUE(third.reject.has_value());
  EXPECT_EQ(third.reject->reason, RejectReason::kRefused);
  EXPECT_THAT(
      third.reject->detail.message(),
      ::testing::HasSubstr("has 2 passes (processing_mode off) for the other "
                           "consumers, and '2/3' reads one of 3"));
  EXPECT_EQ(cluster.job("j")->passes, 2);
}

// No other reader has read the run with its final number.
TEST(Passes, AreThoseThatTheOneReaderKnows) {
  Cluster cluster;
  cluster.AddWorker("w1");
  Reader& rank = AddRankWithPasses(cluster, 0, 3, true);
  rank.hello().cursor = {25, 0};
  rank.Hello();
  EXPECT_EQ(rank.answer->run->positions, 60);
  Reader& solo = AddSolo(cluster, 2, true);
  solo.hello().run = RunNumber(1);
  solo.hello().cursor = {25, 0};
  solo.hello().take_over = true;
  solo.Hello();
  EXPECT_EQ(solo.answer->run->positions, 40);
}

// Reads the first pass, in any number of splits.
void ReadFirstPass(Reader& reader) { ReadTo(reader, 20); }

TEST(Passes, AreFinalWhenAllRanksWereHeardByAStoreThatFollowsAnother) {
  for (const bool by_worker : {false, true}) {
    Cluster cluster;
    Miller& worker = cluster.AddWorker("w1", 8);
    if (by_worker) {
      worker.says.seen = {JournalId(9'999), 5};
      worker.Beat();
    }
    Reader& first = AddRankWithPasses(cluster, 0, by_worker ? 0 : 1);
    if (!by_worker) first.hello().cursor = {3, 0};
    first.Hello();
    ASSERT_TRUE(first.live());
    ReadFirstPass(first);
    EXPECT_FALSE(cluster.job("j")->settled);
    EXPECT_EQ(first.answer->awaited, 2);
    EXPECT_EQ(first.answer->awaited_ranks, (std::vector<uint64_t>{1, 2}));
    AddRankWithPasses(cluster, 1, 2, true).Hello();
    EXPECT_TRUE(cluster.job("j")->settled);
    EXPECT_EQ(cluster.job("j")->passes, 2);
    EXPECT_EQ(first.answer->awaited, 0);
  }
}

// Ranks that ended before the store was emptied never return.
TEST(Passes, AreFinalWithoutRanksThatAreNotHeardForTheClientTimeout) {
  Cluster cluster;
  Miller& worker = cluster.AddWorker("w1", 8);
  Reader& first = AddRankWithPasses(cluster, 0, 1);
  first.hello().cursor = {3, 0};
  first.Hello();
  ReadFirstPass(first);
  cluster.Pass(first.answer->client_timeout / 2, {&first}, {&worker});
  EXPECT_FALSE(cluster.job("j")->settled);
  cluster.Pass(first.answer->client_timeout, {&first}, {&worker});
  EXPECT_TRUE(cluster.job("j")->settled);
  EXPECT_EQ(first.answer->awaited, 0);
}

TEST(Passes, AreFinalAtOnceByTheFirstStoreOfARun) {
  Cluster cluster;
  cluster.AddWorker("w1", 8);
  Reader& first = AddRankWithPasses(cluster, 0, 0);
  first.Hello();
  ReadFirstPass(first);
  EXPECT_TRUE(cluster.job("j")->settled);
}

TEST(Passes, AreAllReadBySharersBeforeTheRunIsFinished) {
  Cluster cluster;
  cluster.AddWorker("w1", 8);
  Reader& reader = cluster.AddReader("j", "a", kGraph, Order::kAny).Hello();
  EXPECT_EQ(reader.answer->run->positions, 20);
  cluster.AddWorker("w2", 8);
  EXPECT_FALSE(reader.answer->exhausted && reader.splits().empty());
  uint64_t last = 0;
  for (int turn = 0; turn < 1'000 && !reader.answer->finished; ++turn) {
    if (!reader.splits().empty()) last = reader.splits().back().end.p;
    reader.FinishAll().Beat();
  }
  EXPECT_TRUE(reader.answer->finished);
  EXPECT_EQ(last, 40);
}

TEST(Passes, AreNoneInOtherModes) {
  Cluster cluster;
  cluster.AddWorker("w1");
  Reader& reader = cluster.AddReader("j", "solo", "range 100");
  reader.hello().passes = 5;  // e.g. from another pipeline's token
  reader.Hello();
  EXPECT_EQ(reader.answer->run->passes, 0);
  EXPECT_TRUE(reader.answer->run->settled);
  cluster.AddWorker("w2");
  EXPECT_EQ(reader.answer->run->positions, 100);
}

}  // namespace
}  // namespace feedmill::testing
