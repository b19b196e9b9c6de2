// Jobs by which a worker reads the inputs of a pipeline.

#include <cstdint>
#include <set>
#include <string>

#include "core/wire/input_job.h"
#include "tests/unit/broker/dispatcher_vocabulary.h"

namespace feedmill::testing {
namespace {

using ::testing::SizeIs;

const char* const kMixture = "range 6";

Reader& AddInput(Cluster& cluster, size_t input,
                 const std::string& read = "one") {
  const std::string name = read + std::to_string(input);
  return cluster
      .AddReader(InputJobName({input}, kMixture, read, name).value(), name,
                 "range 1000")
      .Hello();
}

// Returns the number of the worker's leases of the reader's splits.
size_t LeasesFor(const Miller& worker, const Reader& reader) {
  std::set<SplitId> splits;
  for (const BoundSplit& bound : reader.splits()) splits.insert(bound.split);
  size_t count = 0;
  for (const Lease& lease : worker.leases()) {
    count += splits.contains(lease.split) ? 1 : 0;
  }
  return count;
}

uint32_t DepthAt(const Miller& worker, const SplitId& split) {
  for (const Lease& lease : worker.leases()) {
    if (lease.split == split) return lease.depth;
  }
  return UINT32_MAX;
}

TEST(InputJobs, AHeadThatWaitsForAnInputGetsNoSecondAttempt) {
  Cluster cluster;
  Miller& first = cluster.AddWorker("w1", 8);
  Reader& whole = cluster.AddReader("j", "solo", kMixture).Hello();
  Reader& input = AddInput(cluster, 0);
  Miller& second = cluster.AddWorker("w2", 8);
  cluster.Pass(absl::Seconds(3), {&whole, &input}, {&first, &second});
  EXPECT_THAT(whole.split(0).leases, SizeIs(1));
  EXPECT_THAT(input.split(0).leases, SizeIs(2));
  // The input has come, and the whole still stands.
  input.Report(input.split(0).split, {0, 3}, {0, 1});
  cluster.Pass(absl::Seconds(3), {&whole, &input}, {&first, &second});
  EXPECT_THAT(whole.split(0).leases, SizeIs(2));
}

TEST(InputJobs, GetLeasesBesideThoseThatAreNeededLater) {
  Cluster cluster;
  Miller& worker = cluster.AddWorker("w1", 8);
  Reader& first = AddInput(cluster, 0);
  EXPECT_EQ(LeasesFor(worker.Beat(), first), 8U);
  // Fewer than 8 leases are needed as soon as the fourth split of the second.
  Reader& second = AddInput(cluster, 1);
  worker.Beat();
  EXPECT_EQ(LeasesFor(worker, first), 8U);
  EXPECT_EQ(LeasesFor(worker, second), 4U);
}

TEST(InputJobs, HaveTheirHeadsOnUnlikeWorkers) {
  Cluster cluster;
  Miller& first = cluster.AddWorker("w1", 2);
  Miller& second = cluster.AddWorker("w2", 2);
  Reader& one = AddInput(cluster, 0);
  Reader& other = AddInput(cluster, 1);
  first.Beat();
  second.Beat();
  EXPECT_EQ(one.split(0).leases.at(0).worker, WorkerId("w1"));
  EXPECT_EQ(other.split(0).leases.at(0).worker, WorkerId("w2"));
}

// The reader takes 16 times as much of the first input.
TEST(InputJobs, AreNeededLaterIfLessIsUsed) {
  Cluster cluster;
  Miller& worker = cluster.AddWorker("w1", 8);
  Reader& busy = AddInput(cluster, 0);
  Reader& idle = AddInput(cluster, 1);
  const SplitId head = idle.split(0).split, next = idle.split(1).split;
  EXPECT_EQ(DepthAt(worker.Beat(), next), 1U);
  busy.Report(busy.split(0).split, {0, 200}, {0, 200}).Beat();
  worker.Beat();
  EXPECT_EQ(DepthAt(worker, head), 0U);
  EXPECT_EQ(DepthAt(worker, next), 16U);
  EXPECT_EQ(DepthAt(worker, busy.split(1).split), 1U);
  // The reader has elements of its head ahead, but may need more at once.
  idle.Report(head, {0, 2}, {0, 1}).Beat();
  worker.Beat();
  EXPECT_EQ(DepthAt(worker, head), 0U);
  // It has them for longer.
  cluster.Pass(absl::Seconds(1), {&busy, &idle}, {&worker});
  EXPECT_EQ(DepthAt(worker, head), 16U);
  EXPECT_EQ(DepthAt(worker, next), 32U);
}

TEST(InputJobs, AreNotComparedWithAnotherReadOfThePipeline) {
  Cluster cluster;
  Miller& worker = cluster.AddWorker("w1", 8);
  Reader& earlier = AddInput(cluster, 0, "earlier");
  earlier.Report(earlier.split(0).split, {0, 9000}, {0, 9000}).Beat();
  Reader& later = AddInput(cluster, 0, "later");
  later.Report(later.split(0).split, {0, 1}, {0, 1}).Beat();
  EXPECT_EQ(DepthAt(worker.Beat(), later.split(1).split), 1U);
}

TEST(InputJobs, AreNeededAtOnceIfOnlySplitsBehindTheHeadHaveCome) {
  Cluster cluster;
  Miller& worker = cluster.AddWorker("w1", 8);
  Reader& reader = AddInput(cluster, 0);
  const SplitId head = reader.split(0).split;
  reader.Take(reader.split(1)).Take(reader.split(2)).Beat();
  EXPECT_EQ(DepthAt(worker.Beat(), head), 0U);
  reader.Take(reader.split(0)).Beat();
  EXPECT_EQ(DepthAt(worker.Beat(), reader.split(3).split), 3U);
}

TEST(InputJobs, DoNotCountCompleteLeases) {
  Cluster cluster;
  Miller& worker = cluster.AddWorker("w1", 8);
  Reader& reader = AddInput(cluster, 0);
  EXPECT_EQ(LeasesFor(worker.Beat(), reader), 8U);
  worker.says.complete = 4;
  EXPECT_EQ(LeasesFor(worker.Beat(), reader), 12U);
  worker.says.complete = 100;  // more than the worker may have
  EXPECT_EQ(LeasesFor(worker.Beat(), reader), 16U);
}

}  // namespace
}  // namespace feedmill::testing
