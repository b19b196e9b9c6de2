// States of generators that clients send to a worker (P-272).
#include "core/base/status.h"
#include "tests/unit/worker/agent_vocabulary.h"

namespace feedmill::testing {
namespace {

TEST_F(WorkerAgentTest, TheFirstTaskOfAnOpeningGetsTheStateOfTheGrant) {
  const Lease lease = LeaseOf(1, 0, 1'000);
  GivenLeases({lease});
  Grant grant = GrantOf(lease, 10'000, true);
  grant.start = {0, 3};
  grant.state =
      std::make_shared<const GeneratorState>(GeneratorState{{0, 2}, "state"});
  Give(grant);
  ASSERT_GE(tasks_.size(), 2u);
  EXPECT_EQ(tasks_[0].begin, grant.start);
  EXPECT_EQ(tasks_[0].state, grant.state);
  EXPECT_EQ(tasks_[1].state, nullptr);
}

TEST_F(WorkerAgentTest, AFrameHasTheStateOfItsPiece) {
  const Lease lease = LeaseOf(1, 0, 1'000);
  GivenLeases({lease});
  Give(GrantOf(lease, 10'000, true));
  const ComputeRequest request = TakeTask(0);
  Piece piece = MakePiece(request.begin, request.end);
  piece.state = std::make_shared<const GeneratorState>(
      GeneratorState{piece.end, "state"});
  Keep(agent_.OnComputed(now_, request.task, piece,
                         TaskCost{absl::Microseconds(1)}));
  ASSERT_FALSE(frames_.empty());
  EXPECT_EQ(frames_[0].piece.state, piece.state);
}

}  // namespace
}  // namespace feedmill::testing
