// Readers that name the run that they begin, like applications that loop over
// epochs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/broker/rank_vocabulary.h"

namespace feedmill::testing {
namespace {

using ::testing::HasSubstr;

Reader& Begins(Reader& reader, uint64_t run) {
  reader.hello().run = RunNumber(run);
  reader.hello().begins = true;
  return reader;
}

TEST(NamedRun, BeginsRegardlessOfTheJobsRun) {
  Cluster cluster;
  cluster.AddWorker("w1");
  for (const uint64_t run : {4U, 5U, 2U, 2U, 9U}) {
    Reader& reader = cluster.AddReader("j", "solo", "range 100");
    ASSERT_TRUE(Begins(reader, run).Hello().live());
    EXPECT_EQ(reader.answer->run->run, RunNumber(run));
    EXPECT_EQ(reader.answer->run->iteration, run - 1);
    EXPECT_EQ(reader.split(0).begin, Cursor{});
    reader.Leave();
  }
}

TEST(NamedRun, IsRefusedWhileAnotherReadsTheJob) {
  Cluster cluster;
  cluster.AddWorker("w1");
  Reader& first = cluster.AddReader("j", "solo", "range 100");
  ASSERT_TRUE(Begins(first, 2).Hello().live());
  for (const uint64_t run : {1U, 2U, 3U}) {
    for (const char* consumer : {"solo", "other"}) {
      Reader& second = cluster.AddReader("j", consumer, "range 100");
      Begins(second, run).Hello();
      EXPECT_FALSE(second.live());
      ASSERT_TRUE(second.reject.has_value());
      EXPECT_THAT(ErrorText(second.reject->detail),
                  HasSubstr("is being read by 'solo'"));
    }
  }
  first.Beat();
  EXPECT_FALSE(first.reject.has_value());
  Reader& taker = cluster.AddReader("j", "solo", "range 100");
  taker.hello().take_over = true;
  EXPECT_TRUE(Begins(taker, 3).Hello().live());
}

TEST(NamedRun, IsContinuedByALaterLife) {
  Cluster cluster;
  cluster.AddWorker("w1");
  Reader& first = cluster.AddReader("j", "solo", "range 100");
  ASSERT_TRUE(Begins(first, 2).Hello().live());
  Reader& later = cluster.AddReader("j", "solo", "range 100");
  later.hello().run = RunNumber(2);  // from a token
  EXPECT_TRUE(later.Hello().live());
}

TEST(NamedRun, WaitsForRanksThatAreBehind) {
  Cluster cluster;
  cluster.AddWorker("w1", 8);
  const auto begins = [&](uint64_t rank, uint64_t run) -> Reader& {
    return Begins(AddRank(cluster, rank, 2), run).Hello();
  };
  Reader& zero = begins(0, 1);
  Reader& one = begins(1, 1);
  ASSERT_TRUE(zero.live() && one.live());
  Finish(zero);
  Reader& next = begins(0, 2);
  EXPECT_FALSE(next.live());
  EXPECT_EQ(next.answer->awaited_ranks, (std::vector<uint64_t>{1}));
  Finish(one);
  ASSERT_TRUE(next.Hello().live());
  EXPECT_EQ(next.answer->run->iteration, 1);
  // Another reader of the same rank is refused; the other rank is admitted.
  EXPECT_FALSE(begins(0, 2).live());
  EXPECT_TRUE(begins(1, 2).live());
}

}  // namespace
}  // namespace feedmill::testing
