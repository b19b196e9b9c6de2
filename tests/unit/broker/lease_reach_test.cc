#include <gtest/gtest.h>

#include "broker/lease_scheduler.h"
#include "tests/unit/broker/dispatcher_vocabulary.h"

namespace feedmill::testing {
namespace {

constexpr absl::Duration kSplit = absl::Milliseconds(100);

LeaseReach After(std::initializer_list<int64_t> delays_ms) {
  LeaseReach reach;
  for (const int64_t delay : delays_ms) reach.Add(absl::Milliseconds(delay));
  return reach;
}

TEST(LeaseReach, IsOneForAFastDisk) {
  EXPECT_EQ(LeaseReach().Of(kSplit), 1);
  EXPECT_EQ(After({99, 99, 99}).Of(kSplit), 1);
}

TEST(LeaseReach, GrowsWithTheDelayUpToALimit) {
  EXPECT_EQ(After({100, 100}).Of(kSplit), 2);
  EXPECT_EQ(After({1'000, 1'000, 1'000}).Of(kSplit), 11);
  EXPECT_EQ(After({60'000, 60'000}).Of(kSplit), LeaseReach::kMax);
}

TEST(LeaseReach, IgnoresASingleSlowSync) {
  EXPECT_EQ(After({1, 21'900, 1}).Of(kSplit), 1);
  EXPECT_EQ(After({1'000, 1'000, 1}).Of(kSplit), 11);
  EXPECT_EQ(After({1'000, 1'000, 1, 1}).Of(kSplit), 1);
}

// A dispatcher whose disk is slow binds and leases further ahead, once it knows
// what a position costs.
TEST(LeaseReach, MakesTheDispatcherLeaseFurtherAhead) {
  Cluster cluster;
  Miller& worker = cluster.AddWorker("w1", /*slots=*/2);
  Reader& reader = cluster.AddReader("j", "solo", "range 1000000").Hello();
  EXPECT_EQ(reader.splits().size(), 4);
  for (int k = 0; k < 2; ++k) {
    cluster.dispatcher().NoteSynced(cluster.state().sequence,
                                    absl::Milliseconds(300));
  }
  reader.Beat();
  EXPECT_EQ(reader.splits().size(), 4);  // the cost is unknown
  worker.says.costs.push_back(
      {worker.leases().front().plan, 10, 100, absl::Milliseconds(100)});
  worker.Beat();
  reader.FinishAll().Beat();
  EXPECT_EQ(reader.splits().size(), 16);
  EXPECT_GE(worker.leases().size(), 8);
  for (int k = 0; k < 2; ++k) {
    cluster.dispatcher().NoteSynced(cluster.state().sequence,
                                    absl::Milliseconds(1));
  }
  reader.FinishAll().Beat();
  EXPECT_EQ(reader.splits().size(), 4);
}

}  // namespace
}  // namespace feedmill::testing
