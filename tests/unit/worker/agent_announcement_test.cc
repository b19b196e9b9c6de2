#include <vector>

#include "tests/unit/worker/agent_vocabulary.h"

// Positions that a worker announces before they run.

namespace feedmill::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class AgentAnnouncementTest : public WorkerAgentTest {
 protected:
  // Returns the announcements of all tasks, in the order of the tasks.
  std::vector<PositionRange> Announced() const {
    std::vector<PositionRange> announced;
    for (const ComputeRequest& task : tasks_) {
      announced.insert(announced.end(), task.soon.begin(), task.soon.end());
    }
    return announced;
  }
};

TEST_F(AgentAnnouncementTest, NothingIsAnnouncedForPlansThatReadNothingAhead) {
  const Lease lease = LeaseOf(0, 0, 100);
  GivenLeases({lease});
  Give(GrantOf(lease, 1'000));
  EXPECT_THAT(tasks_, ::testing::Not(IsEmpty()));
  EXPECT_THAT(Announced(), IsEmpty());
}

TEST_F(AgentAnnouncementTest, EachPositionIsAnnouncedOnceWithinReach) {
  traits_.positions_ahead = 4;
  const Lease lease = LeaseOf(0, 0, 10);
  GivenLeases({lease});
  Give(GrantOf(lease, 1'000));
  // Tasks for positions 0 and 1 begin; 4 positions after each are in reach.
  EXPECT_THAT(Announced(),
              ElementsAre(PositionRange{1, 5}, PositionRange{5, 6}));
  ComputeAll();
  EXPECT_EQ(Values(), Numbers(0, 10));
}

TEST_F(AgentAnnouncementTest, LaterLeasesOfThePlanAreAnnouncedToo) {
  traits_.positions_ahead = 4;
  const Lease first = LeaseOf(0, 0, 2);
  const Lease second = LeaseOf(1, 2, 3);
  const Lease third = LeaseOf(2, 3, 100);
  GivenLeases({first, second, third});
  Give(GrantOf(first, 1'000));
  EXPECT_THAT(Announced(),
              ElementsAre(PositionRange{1, 2}, PositionRange{2, 3},
                          PositionRange{3, 5}, PositionRange{5, 6}));
}

}  // namespace
}  // namespace feedmill::testing
