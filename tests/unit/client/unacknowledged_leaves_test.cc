#include "client/unacknowledged_leaves.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace feedmill {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

const JobName kLeftJob{"job"};

ClientLeave LeaveOf(const JobName& job, uint64_t life) {
  return {job, RunNumber{1}, {ConsumerId{"solo"}, Incarnation{life}}, {}};
}

TEST(UnacknowledgedLeavesTest, AreOfOneServiceAndJob) {
  UnacknowledgedLeaves leaves;
  leaves.Replace("tcp://a:1", {}, {LeaveOf(kLeftJob, 1)});
  EXPECT_THAT(leaves.Of("tcp://a:1", kLeftJob), SizeIs(1));
  EXPECT_THAT(leaves.Of("tcp://a:2", kLeftJob), IsEmpty());
  EXPECT_THAT(leaves.Of("tcp://a:1", JobName("other")), IsEmpty());
}

TEST(UnacknowledgedLeavesTest, AreDroppedWhenAReaderHasSentThem) {
  UnacknowledgedLeaves leaves;
  leaves.Replace("tcp://a:1", {}, {LeaveOf(kLeftJob, 1)});
  leaves.Replace("tcp://a:1", {}, {LeaveOf(kLeftJob, 2)});
  const auto acknowledged = leaves.Of("tcp://a:1", kLeftJob);
  ASSERT_THAT(acknowledged, SizeIs(2));
  leaves.Replace("tcp://a:2", acknowledged, {});
  EXPECT_THAT(leaves.Of("tcp://a:1", kLeftJob), SizeIs(2)) << "another service";
  leaves.Replace("tcp://a:1", acknowledged,
                 {acknowledged[1], LeaveOf(kLeftJob, 3)});
  const auto left = leaves.Of("tcp://a:1", kLeftJob);
  ASSERT_THAT(left, SizeIs(2));
  EXPECT_EQ(left[0].session.incarnation, Incarnation{2});
  EXPECT_EQ(left[1].session.incarnation, Incarnation{3});
}

TEST(UnacknowledgedLeavesTest, TheOldestAreForgotten) {
  UnacknowledgedLeaves leaves;
  for (uint64_t life = 1; life <= 1'500; ++life) {
    leaves.Replace("tcp://a:1", {}, {LeaveOf(kLeftJob, life)});
  }
  const auto left = leaves.Of("tcp://a:1", kLeftJob);
  ASSERT_THAT(left, SizeIs(1'000));
  EXPECT_EQ(left[0].session.incarnation, Incarnation{501});
}

}  // namespace
}  // namespace feedmill
