#include "core/pipeline/executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "core/chunk/chunk_builder.h"
#include "core/io/read_stop.h"
#include "core/pipeline/piece_sizer.h"
#include "core/pipeline/stacking.h"
#include "core/process/process_quota.h"
#include "feedmill/element.h"
#include "tests/unit/sources/test_folder.h"

namespace feedmill {
namespace {

using ::testing::Each;

// Counts down; waits for zero.
class Latch {
 public:
  explicit Latch(int count) : count_(count) {}
  void CountDown() {
    const std::lock_guard lock(mutex_);
    if (--count_ == 0) zero_.notify_all();
  }
  void Wait() {
    std::unique_lock lock(mutex_);
    zero_.wait(lock, [this] { return count_ <= 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable zero_;
  int count_;
};

// Returns the policy that a new thread would get; a sandbox may refuse
// SCHED_BATCH, and the test's starter may have chosen another policy.
int BatchPolicyIfAllowed() {
  int policy = sched_getscheduler(0);
  if (policy != SCHED_OTHER) return policy;
  std::thread([&policy] {
    const sched_param none{};
    pthread_setschedparam(pthread_self(), SCHED_BATCH, &none);
    policy = sched_getscheduler(0);
  }).join();
  return policy;
}

TEST(Executor, TellsReadsOfItsWorkToEndWhenItStops) {
  std::atomic<bool> asked_before = false;
  Latch began(1);
  {
    Executor executor(1);
    ASSERT_TRUE(executor.Submit([&](int) {
      asked_before = ReadStop::Asked();
      began.CountDown();
      // A read that waits for a network; it blocks for ever unless stopped.
      while (!ReadStop::Asked()) std::this_thread::yield();
    }));
    began.Wait();
  }
  EXPECT_FALSE(asked_before);
}

TEST(Executor, ThreadsHaveBatchPriority) {
  const int before = sched_getscheduler(0);
  std::vector<int> policies(4, -1);
  Latch done(static_cast<int>(policies.size()));
  Executor executor(2);
  for (int& policy : policies) {
    ASSERT_TRUE(executor.Submit([&](int) {
      policy = sched_getscheduler(0);
      done.CountDown();
    }));
  }
  done.Wait();
  EXPECT_THAT(policies, Each(BatchPolicyIfAllowed()));
  EXPECT_EQ(sched_getscheduler(0), before) << "of who made it";
}

TEST(Executor, RunsAllWorkOnItsThreads) {
  for (const int threads : {1, 2, 5}) {
    Executor executor(threads);
    EXPECT_EQ(executor.threads(), threads);
    constexpr int kWork = 200;
    Latch done(kWork);
    std::atomic<int> bad = 0;
    for (int k = 0; k < kWork; ++k) {
      ASSERT_TRUE(executor.Submit([&](int thread) {
        if (thread < 0 || thread >= threads) ++bad;
        done.CountDown();
      }));
    }
    done.Wait();
    EXPECT_EQ(bad, 0);
  }
}

TEST(Executor, RunsWorkAtTheSameTime) {
  Executor executor(3);
  Latch all(3);
  Latch done(3);
  for (int k = 0; k < 3; ++k) {
    ASSERT_TRUE(executor.Submit([&](int) {
      all.CountDown();
      all.Wait();  // for ever, if they ran one after another
      done.CountDown();
    }));
  }
  done.Wait();
}

TEST(Executor, IsBoundedAndDropsWhatHasNotBegun) {
  std::atomic<int> ran = 0;
  size_t queued = 0;
  {
    Latch running(1);
    Latch go(1);
    Executor executor(1);
    ASSERT_TRUE(executor.Submit([&](int) {
      running.CountDown();
      go.Wait();
    }));
    running.Wait();
    while (executor.Submit([&](int) { ++ran; })) {
      ASSERT_LT(++queued, 1'000'000u);
    }
    EXPECT_GT(queued, 1u);
    // The first work ends when the executor is being destroyed, or at worst
    // before. In both cases no work is lost or run twice.
    go.CountDown();
  }
  EXPECT_LE(static_cast<size_t>(ran.load()), queued);
}

TEST(AvailableCpus, IsAtLeastOne) { EXPECT_GE(AvailableCpus(), 1); }

TEST(CgroupCpus, ReadsVersion2UpToTheRoot) {
  TestFolder root;
  root.Write("a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(CgroupCpus("0::/a/b\n", root.path()), std::nullopt);
  root.Write("a/cpu.max", "250000 100000\n");
  EXPECT_EQ(CgroupCpus("0::/a/b\n", root.path()), 3);
  root.Write("a/b/cpu.max", "50000 100000\n");
  EXPECT_EQ(CgroupCpus("0::/a/b\n", root.path()), 1);
  root.Write("cpu.max", "200000 100000\n");
  EXPECT_EQ(CgroupCpus("0::/\n", root.path()), 2);
}

TEST(CgroupCpus, ReadsVersion1) {
  TestFolder root;
  root.Write("cpu,cpuacct/x/cpu.cfs_quota_us", "150000");
  root.Write("cpu,cpuacct/x/cpu.cfs_period_us", "100000");
  root.Write("cpu,cpuacct/y/cpu.cfs_quota_us", "-1");
  root.Write("cpu,cpuacct/y/cpu.cfs_period_us", "100000");
  EXPECT_EQ(CgroupCpus("3:memory:/x\n4:cpu,cpuacct:/x\n", root.path()), 2);
  EXPECT_EQ(CgroupCpus("4:cpu,cpuacct:/y\n", root.path()), std::nullopt);
  EXPECT_EQ(CgroupCpus("nonsense", root.path()), std::nullopt);
}

TEST(PieceSizer, StartsSmallAndGrowsByFours) {
  PieceSizer sizer(512 << 10, 0, true);
  EXPECT_EQ(sizer.Positions(), 1u);
  sizer.Observe(1, 100, 1e-6);
  EXPECT_EQ(sizer.Positions(), 4u);
  sizer.Observe(4, 400, 4e-6);
  EXPECT_EQ(sizer.Positions(), 16u);
  sizer.Observe(16, size_t{16} << 18, 16e-6);  // 256 KiB per position
  EXPECT_EQ(sizer.Positions(), 2u);
  sizer.Observe(2, 10, 1.0);  // half a second per position
  EXPECT_EQ(sizer.Positions(), 1u);
}

TEST(PieceSizer, BelievesAFirstGuess) {
  EXPECT_EQ(PieceSizer(1 << 20, 1 << 18, false).Positions(), 4u);
  EXPECT_EQ(PieceSizer(1, 1 << 18, false).Positions(), 1u);
}

TEST(Stacking, PutsRowsIntoBatchesAndBack) {
  const Column rows = MakeColumn<int64_t>({1, 2, 3, 4, 5, 6});
  Column batches;
  size_t failed = 0;
  const size_t groups[] = {2, 2, 2};
  ASSERT_TRUE(StackRows(rows, groups, batches, failed).ok());
  EXPECT_FALSE(batches.ragged());
  EXPECT_EQ(batches.shape, Shape{2});
  EXPECT_EQ(batches.values.data(), rows.values.data());

  const size_t uneven[] = {4, 2};
  ASSERT_TRUE(StackRows(rows, uneven, batches, failed).ok());
  EXPECT_EQ(batches.RowShape(0), Shape{4});
  EXPECT_EQ(batches.RowShape(1), Shape{2});
  EXPECT_EQ(batches.Items<int64_t>(1)[0], 5);

  Column back;
  std::vector<size_t> sizes;
  UnstackRows(batches, 2, back, sizes);
  EXPECT_EQ(sizes, (std::vector<size_t>{4, 2}));
  EXPECT_EQ(back.Items<int64_t>(5)[0], 6);
}

TEST(Stacking, NamesTheFirstBatchWhoseRowsDiffer) {
  ChunkBuilder builder(std::make_shared<ElementSpec>(
      ElementSpec{{{"", DType::kUInt8, {kUnknownDim}}}}));
  for (const int64_t size : {2, 2, 3, 3, 2, 3}) {
    std::memset(builder.AppendRow(0, {size}), 1, static_cast<size_t>(size));
    builder.FinishRows(1);
  }
  const Chunk chunk = std::move(builder).Finish();
  Column batches;
  size_t failed = 0;
  const size_t groups[] = {2, 2, 2};
  EXPECT_EQ(StackRows(chunk.columns[0], groups, batches, failed).code(),
            absl::StatusCode::kDataLoss);
  EXPECT_EQ(failed, 2u);
  const size_t good[] = {2, 2};
  ASSERT_TRUE(StackRows(chunk.columns[0], good, batches, failed).ok());
  EXPECT_EQ(batches.RowShape(1), (Shape{2, 3}));
}

}  // namespace
}  // namespace feedmill
