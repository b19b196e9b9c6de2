#include "client/known_run.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace feedmill {
namespace {

using ::testing::HasSubstr;

constexpr Cursor kBeginning{};
constexpr Cursor kBegun{1, 0};

class KnownRunTest : public ::testing::Test {
 protected:
  explicit KnownRunTest(Order order = Order::kDeterministic) {
    settings_.job = JobName("photos");
    settings_.order = order;
    info_.run = RunNumber{4};
    info_.plan = PlanId{"plan"};
    info_.positions = 12;
  }

  ReadSessionSettings settings_;
  const SessionRules rules_;
  RunInfo info_;
  KnownRun run_{settings_, rules_};
};

class SharedRunTest : public KnownRunTest {
 protected:
  SharedRunTest() : KnownRunTest(Order::kAny) {}
};

TEST_F(KnownRunTest, IgnoresAnotherRunThanTheRequestedOne) {
  settings_.run = RunNumber{5};
  EXPECT_EQ(run_.Take(info_, kBeginning).value(), false);
  EXPECT_FALSE(run_.info().has_value());
  info_.run = RunNumber{5};
  EXPECT_EQ(run_.Take(info_, kBeginning).value(), true);
  EXPECT_EQ(run_.info()->run, RunNumber{5});
}

TEST_F(KnownRunTest, RefusesAnotherPlan) {
  ASSERT_TRUE(run_.Take(info_, kBeginning).value());
  info_.plan = PlanId{"other"};
  const absl::Status refused = run_.Take(info_, kBeginning).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(refused.message(), HasSubstr("job \"photos\""));
}

TEST_F(SharedRunTest, ContinuesInTheJobsNextRun) {
  ASSERT_TRUE(run_.Take(info_, kBeginning).value());
  info_.run = RunNumber{5};
  EXPECT_TRUE(run_.Take(info_, kBeginning).value());
}

TEST_F(KnownRunTest, RefusesAnotherNumberOfPassesOnceItHasElements) {
  info_.passes = 3;
  info_.settled = true;
  ASSERT_TRUE(run_.Take(info_, kBeginning).value());
  info_.passes = 4;
  EXPECT_EQ(run_.Take(info_, kBegun).status().code(),
            absl::StatusCode::kFailedPrecondition);
  info_.settled = false;  // the answer to a late copy of a hello
  EXPECT_EQ(run_.Take(info_, kBegun).value(), false);
  EXPECT_EQ(run_.info()->passes, 3u);
  EXPECT_EQ(run_.Take(info_, kBeginning).value(), true);
}

// ---- P-190
TEST_F(KnownRunTest, TheSecondPassIsOpenUntilTheNumberIsFinal) {
  info_.passes = 3;
  info_.settled = false;
  ASSERT_TRUE(run_.Take(info_, kBeginning).value());
  EXPECT_FALSE(run_.IsUnsettled({4, 0}));
  EXPECT_TRUE(run_.IsUnsettled({4, 1}));
  info_.settled = true;
  ASSERT_TRUE(run_.Take(info_, kBeginning).value());
  EXPECT_FALSE(run_.IsUnsettled({4, 1}));
}

// ---- rule 27
TEST_F(KnownRunTest, EndsAtTheLastPositionOnceTheNumberIsFinal) {
  info_.settled = false;
  ASSERT_TRUE(run_.Take(info_, kBeginning).value());
  EXPECT_FALSE(run_.EndsBefore({12, 0}));
  info_.settled = true;
  ASSERT_TRUE(run_.Take(info_, kBeginning).value());
  EXPECT_FALSE(run_.EndsBefore({11, 5}));
  EXPECT_TRUE(run_.EndsBefore({12, 0}));
  info_.positions = kInfinitePositions;
  ASSERT_TRUE(run_.Take(info_, kBeginning).value());
  EXPECT_FALSE(run_.EndsBefore({12, 0}));
}

TEST_F(KnownRunTest, NamesTheRunThatItReads) {
  settings_.run = RunNumber{4};
  settings_.begins = true;
  settings_.seed = 7;
  ClientHello hello;
  run_.Name(hello);
  EXPECT_TRUE(hello.begins);
  EXPECT_EQ(hello.seed, 7u);
  info_.seed = 11;
  info_.passes = 3;
  info_.settled = true;
  ASSERT_TRUE(run_.Take(info_, kBeginning).value());
  run_.Name(hello);
  EXPECT_FALSE(hello.begins);
  EXPECT_EQ(hello.run, RunNumber{4});
  EXPECT_EQ(hello.seed, 11u);
  EXPECT_EQ(hello.passes, 3u);
  EXPECT_TRUE(hello.settled);
}

}  // namespace
}  // namespace feedmill
