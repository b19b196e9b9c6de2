#include "client/wait_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status.h"
#include "core/net/clock.h"

namespace feedmill {
namespace {

using ::testing::HasSubstr;

// A reader that has waited for `waited`, while a dispatcher and a worker
// answer.
struct Wait {
  explicit Wait(absl::Duration waited) : now(SteadyNow()), begun(now - waited) {
    view.answered = true;
    view.last_answer = now;
    view.workers = 1;
    view.workers_changed = begun;
    view.progress = begun;
    view.run = RunInfo{};
    view.joins = false;
  }
  absl::Status Late(std::optional<absl::Duration> first,
                    bool had_element = false) const {
    ReadOptions options;
    options.limits.first_timeout = first;
    return WaitLimits("tcp://d:1", options).Late(view, begun, had_element);
  }

  absl::Time now;
  absl::Time begun;
  ServiceLink::View view;
};

TEST(WaitLimitsTest, AFirstTimeoutBelowTheTimeoutEndsTheWaitForData) {
  const Wait wait(absl::Seconds(30));
  EXPECT_TRUE(absl::IsDeadlineExceeded(wait.Late(absl::Seconds(5))));
  EXPECT_TRUE(wait.Late(absl::Seconds(5), /*had_element=*/true).ok());
  EXPECT_TRUE(wait.Late(absl::Minutes(10)).ok());
}

TEST(WaitLimitsTest, WithoutAFirstTimeoutDataHasTheTimeout) {
  EXPECT_TRUE(Wait(absl::Seconds(30)).Late(std::nullopt).ok());
  EXPECT_TRUE(
      absl::IsDeadlineExceeded(Wait(absl::Seconds(61)).Late(std::nullopt)));
  Wait alone(absl::Seconds(30));
  alone.view.workers = 0;
  EXPECT_THAT(ErrorText(alone.Late(std::nullopt)),
              HasSubstr("has had no workers"));
}

TEST(WaitLimitsTest, AFirstTimeoutEndsTheWaitForRanksAndForThePlan) {
  Wait ranks(absl::Seconds(30));
  ranks.view.awaited = 1;
  ranks.view.joins = true;
  EXPECT_TRUE(ranks.Late(std::nullopt).ok());
  EXPECT_THAT(ErrorText(ranks.Late(absl::Seconds(5))),
              HasSubstr("the iteration before its own"));
  Wait plan(absl::Seconds(300));
  plan.view.run.reset();
  EXPECT_TRUE(plan.Late(std::nullopt).ok());
  EXPECT_THAT(ErrorText(plan.Late(absl::Seconds(5))),
              HasSubstr("a worker still lists the files"));
}

}  // namespace
}  // namespace feedmill
