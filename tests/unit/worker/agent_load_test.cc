#include <memory>
#include <vector>

#include "tests/unit/worker/agent_vocabulary.h"

// A worker's load reports.

namespace feedmill::testing {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class AgentLoad : public WorkerAgentTest {
 protected:
  // Returns the next reported load; nullopt if ten heartbeats have none.
  std::optional<WorkerLoad> NextLoad() {
    for (int beat = 0; beat < 10; ++beat) {
      if (const WorkerBeat said = Beat(); said.load.has_value()) {
        return said.load;
      }
    }
    return std::nullopt;
  }
};

TEST_F(AgentLoad, SaysWhatThreadsAndStreamsDo) {
  const Lease lease = LeaseOf(1, 0, 100);
  GivenLeases({lease});
  Give(GrantOf(lease, 80, true));
  ComputeAll();
  const auto load = NextLoad();
  ASSERT_TRUE(load.has_value());
  EXPECT_EQ(load->threads, 1u);
  EXPECT_EQ(load->memory_max, 400u);
  EXPECT_GT(load->memory_bytes, 0u);
  EXPECT_GT(load->busy, absl::ZeroDuration());
  ASSERT_THAT(load->plans, SizeIs(1));
  EXPECT_EQ(load->plans[0].plan, kPlan);
  EXPECT_EQ(load->plans[0].streams, 1u);
  EXPECT_EQ(load->plans[0].waiting_for_credit, 1u);
  EXPECT_EQ(load->plans[0].bytes, 80u);
  EXPECT_EQ(load->plans[0].elements, 10u);
}

TEST_F(AgentLoad, LeavesOutAPlanSomeTimeAfterItsLastLease) {
  const Lease lease = LeaseOf(1, 0, 100);
  GivenLeases({lease});
  Give(GrantOf(lease, 80, true));
  Answer({});
  now_ += absl::Minutes(1);
  EXPECT_THAT(agent_.Load(now_).plans, SizeIs(1));
  now_ += absl::Minutes(2);
  Answer({});
  EXPECT_THAT(agent_.Load(now_).plans, IsEmpty());
  Answer({lease});
  EXPECT_THAT(agent_.Load(now_).plans, SizeIs(1));
}

TEST_F(AgentLoad, IsLeftOutWhileTheWorkerIsIdle) {
  EXPECT_TRUE(NextLoad().has_value());
  EXPECT_FALSE(NextLoad().has_value());
  const Lease lease = LeaseOf(1, 0, 10);
  GivenLeases({lease});
  Give(GrantOf(lease, 800, true));
  EXPECT_TRUE(NextLoad().has_value());
}

TEST_F(AgentLoad, TellsOfCachesAlsoWhileTheWorkerIsIdle) {
  EXPECT_TRUE(NextLoad().has_value());
  EXPECT_FALSE(NextLoad().has_value());
  agent_.NoteCacheFaults(1, "/cache: No space left on device");
  const auto load = NextLoad();
  ASSERT_TRUE(load.has_value());
  EXPECT_EQ(load->cache_faults, 1u);
  EXPECT_EQ(load->cache_fault, "/cache: No space left on device");
  EXPECT_TRUE(NextLoad().has_value());  // it is idle again
  EXPECT_FALSE(NextLoad().has_value());
}

TEST_F(AgentLoad, MeasuresATaskNowAndThen) {
  const Lease lease = LeaseOf(1, 0, 1'000);
  GivenLeases({lease});
  Give(GrantOf(lease, 1'000'000, true));
  ASSERT_THAT(tasks_, SizeIs(2));
  EXPECT_TRUE(tasks_[0].measure);
  EXPECT_FALSE(tasks_[0].profile);
  EXPECT_FALSE(tasks_[1].measure);
  now_ += absl::Milliseconds(60);
  Compute();
  EXPECT_TRUE(tasks_.back().measure);
}

TEST_F(AgentLoad, SaysTheCostsOfMeasuredTasksOnce) {
  const Lease lease = LeaseOf(1, 0, 100);
  GivenLeases({lease});
  Give(GrantOf(lease, 800, true));
  const ComputeRequest task = TakeTask(0);
  const std::vector<StepCost> costs{{1, 100, 80, 0, 1, 8},
                                    {3, 50, 50, 1, 1, 8}};
  Keep(agent_.OnComputed(now_, task.task,
                         MakePiece(task.begin, task.end, OneRow),
                         TaskCost{absl::Microseconds(1)}, nullptr,
                         std::make_shared<const std::vector<StepCost>>(costs)));
  ASSERT_FALSE(frames_.empty());
  EXPECT_EQ(frames_[0].costs, nullptr);  // not requested
  EXPECT_EQ(NextLoad()->plans.at(0).steps, costs);
  EXPECT_THAT(NextLoad()->plans.at(0).steps, IsEmpty());
  EXPECT_EQ(agent_.Load(now_).plans.at(0).steps, costs);  // for metrics
}

}  // namespace
}  // namespace feedmill::testing
