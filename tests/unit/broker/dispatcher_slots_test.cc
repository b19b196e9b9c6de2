// Runs with slots (mode off): a whole pass for each worker.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/broker/dispatcher_vocabulary.h"

namespace feedmill::testing {
namespace {

constexpr char kGraph[] = "slots 20";

Reader& AddSolo(Cluster& cluster, uint64_t slots = 0, bool settled = false) {
  Reader& reader = cluster.AddReader("j", "solo", kGraph);
  reader.hello().slots = slots;
  reader.hello().settled = settled;
  return reader;
}

// Reads on until its next split begins at or after `position`.
void ReadTo(Reader& reader, uint64_t position) {
  for (int turn = 0; turn < 1'000 && !reader.splits().empty() &&
                     reader.split(0).begin.p < position;
       ++turn) {
    reader.FinishAll().Beat();
  }
}

TEST(Slots, AreOneForEachWorkerThatIsThereOrComes) {
  Cluster cluster;
  cluster.AddWorker("w1");
  cluster.AddWorker("w2");
  Reader& reader = AddSolo(cluster).Hello();
  ASSERT_TRUE(reader.live());
  EXPECT_EQ(reader.answer->run->slots, 2);
  EXPECT_EQ(reader.answer->run->positions, 40);
  EXPECT_FALSE(reader.answer->run->settled);
  const PlanId plan = reader.answer->run->plan;
  reader.Forget();
  cluster.AddWorker("w3");  // told at once
  ASSERT_TRUE(reader.live());
  EXPECT_EQ(reader.answer->run->slots, 3);
  EXPECT_EQ(reader.answer->run->positions, 60);
  EXPECT_EQ(reader.answer->run->plan, plan);
}

TEST(Slots, AWorkerInThePlaceOfALostOneAddsNone) {
  Cluster cluster;
  Miller& first = cluster.AddWorker("w1");
  cluster.AddWorker("w2");
  Reader& reader = AddSolo(cluster).Hello();
  cluster.Pass(absl::Seconds(2), {&reader}, {&first});  // w2 is lost
  cluster.AddWorker("w3");
  first.says.draining = true;
  first.Beat();
  cluster.AddWorker("w4");
  EXPECT_EQ(cluster.job("j")->slots, 2);
}

TEST(Slots, AreSettledWhenTheFirstHasEnded) {
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
  EXPECT_TRUE(cluster.job("j")->complete);
}

TEST(Slots, TheOneReaderOfOneSlotHearsOfItsEnd) {
  Cluster cluster;
  cluster.AddWorker("w1", 8);
  Reader& reader = AddSolo(cluster).Hello();
  for (int turn = 0; turn < 100 && !reader.answer->run->settled; ++turn) {
    reader.FinishAll().Beat();
  }
  EXPECT_TRUE(reader.answer->run->settled);
  EXPECT_EQ(reader.answer->run->positions, 20);
}

TEST(Slots, OfARankThatLeftAreSettledForTheOthers) {
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
  EXPECT_EQ(cluster.job("j")->slots, 1);
  EXPECT_TRUE(cluster.job("j")->settled);
}

TEST(Slots, OutliveADispatcher) {
  Cluster cluster;
  cluster.AddWorker("w1", 8);
  Miller& second = cluster.AddWorker("w2", 8);
  Reader& reader = AddSolo(cluster).Hello();
  cluster.Restart();  // nobody has come back
  second.Beat();
  EXPECT_EQ(cluster.job("j")->slots, 2);
  ReadTo(reader, 20);
  cluster.Restart();
  for (const char* name : {"w1", "w2", "w3"}) cluster.AddWorker(name, 8);
  EXPECT_EQ(cluster.job("j")->slots, 2);
  EXPECT_TRUE(cluster.job("j")->settled);
}

TEST(Slots, AreAsManyAsAReaderKnowsOf) {
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

TEST(Slots, AreExactlyAsManyAsASettledReaderKnowsOf) {
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

// A dispatcher that lost everything meets first who knew least.
TEST(Slots, AreThoseOfTheRankThatKnowsMost) {
  for (const bool read : {false, true}) {
    Cluster cluster;
    cluster.AddWorker("w1");
    Reader& first = AddSolo(cluster, 2, true);
    first.hello().session.consumer = ConsumerId("0/2");
    first.hello().share = {0, 2};
    first.Hello();
    Reader& second = cluster.AddReader("j", "1/2", kGraph);
    second.hello().share = {1, 2};
    second.hello().slots = 3;
    second.hello().cursor = {read ? 45U : 5U, 0};
    second.Hello();
    // What was only promised may be taken back, what was read may not.
    EXPECT_EQ(cluster.job("j")->slots, read ? 3 : 2);
    EXPECT_EQ(first.answer->run->positions, read ? 60 : 40);
    EXPECT_EQ(second.answer->run->positions, read ? 60 : 40);
  }
}

TEST(Slots, OfSharersAreAllReadBeforeTheRunIsFinished) {
  Cluster cluster;
  cluster.AddWorker("w1", 8);
  Reader& reader = cluster.AddReader("j", "a", kGraph, Order::kAny).Hello();
  EXPECT_EQ(reader.answer->run->positions, 20);
  cluster.AddWorker("w2", 8);
  EXPECT_FALSE(reader.answer->dry && reader.splits().empty());
  uint64_t last = 0;
  for (int turn = 0; turn < 1'000 && !reader.answer->finished; ++turn) {
    if (!reader.splits().empty()) last = reader.splits().back().end.p;
    reader.FinishAll().Beat();
  }
  EXPECT_TRUE(reader.answer->finished);
  EXPECT_EQ(last, 40);
}

TEST(Slots, AreNoneInOtherModes) {
  Cluster cluster;
  cluster.AddWorker("w1");
  Reader& reader = cluster.AddReader("j", "solo", "range 100");
  reader.hello().slots = 5;  // of another pipeline's token, say
  reader.Hello();
  EXPECT_EQ(reader.answer->run->slots, 0);
  EXPECT_TRUE(reader.answer->run->settled);
  cluster.AddWorker("w2");
  EXPECT_EQ(reader.answer->run->positions, 100);
}

}  // namespace
}  // namespace feedmill::testing
