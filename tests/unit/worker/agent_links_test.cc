// What a worker makes of a client's wishes.
#include <string>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/wire/packing.h"
#include "tests/unit/worker/agent_vocabulary.h"

namespace feedmill::testing {
namespace {

using ::testing::SizeIs;

TEST_F(WorkerAgentTest, PackedPartsGoOnlyToWhoWishesForThem) {
  for (const bool wishes : {true, false}) {
    const Lease lease = LeaseOf(wishes ? 1 : 2, 0, 2);
    GivenLeases({lease});
    Grant grant = GrantOf(lease, 10'000, true);
    grant.compression = LinkCompression::kZstd;
    grant.checksums = true;
    Give(grant);
    const ComputeRequest task = TakeTask(0);
    EXPECT_EQ(task.to, kClient);
    EXPECT_EQ(task.compression, LinkCompression::kZstd);
    if (!wishes) {  // any more
      grant.compression = LinkCompression::kNone;
      Give(grant);
    }
    const Piece piece = MakePiece(task.begin, task.end, testing::OneRow);
    const auto packed = std::make_shared<PackedParts>();
    Keep(agent_.OnComputed(now_, task.task, piece, absl::Microseconds(1),
                           packed));
    ASSERT_THAT(frames_, SizeIs(1));
    EXPECT_EQ(frames_[0].packed, wishes ? packed : nullptr);
    EXPECT_TRUE(frames_[0].checksums);
    frames_.clear();
    tasks_.clear();
  }
}

// The parts are those of the whole piece.
TEST_F(WorkerAgentTest, APieceThatIsCutIsNotPackedAnyMore) {
  const Lease lease = LeaseOf(1, 0, 100);
  GivenLeases({lease});
  Grant grant = GrantOf(lease, 10'000, true);
  grant.compression = LinkCompression::kLz4;
  Give(grant);
  Compute();
  Compute();  // tasks of four positions now
  const ComputeRequest task = TakeTask(0);
  ASSERT_GT(task.end.p, task.begin.p + 1);
  grant.opening = Opening(grant.opening.value() + 1);
  grant.start = {task.begin.p + 1, 0};
  Give(grant);
  frames_.clear();
  const Piece piece = MakePiece(task.begin, task.end, testing::OneRow);
  Keep(agent_.OnComputed(now_, task.task, piece, absl::Microseconds(1),
                         std::make_shared<PackedParts>()));
  ASSERT_FALSE(frames_.empty());
  EXPECT_EQ(frames_[0].piece.begin, grant.start);
  EXPECT_EQ(frames_[0].packed, nullptr);
}

}  // namespace
}  // namespace feedmill::testing
