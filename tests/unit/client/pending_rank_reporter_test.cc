#include "client/pending_rank_reporter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "core/base/status.h"

namespace feedmill {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(PendingRankReporterTest, AreNamedByNumber) {
  const PendingRankReporter ranks("j", 0, 20);
  EXPECT_EQ(ranks.Text(1, {7}), "consumer 7 of 20");
  EXPECT_EQ(ranks.Text(2, {1, 2}), "consumers 1 and 2 of 20");
  EXPECT_EQ(ranks.Text(3, {1, 2, 9}), "consumers 1, 2 and 9 of 20");
  EXPECT_EQ(ranks.Text(12, {1, 2}), "consumers 1, 2 and 10 more of 20");
  EXPECT_EQ(ranks.Text(3, {}), "3 of 20 consumers");
}

TEST(PendingRankReporterTest, AreLoggedOnceWhileUnchangedAndAtLongIntervals) {
  PendingRankReporter ranks("j", 0, 3);
  const absl::Time begin = absl::UnixEpoch();
  ::testing::internal::CaptureStderr();
  ranks.Log(begin, 0, {});
  ranks.Log(begin, 2, {1, 2});
  ranks.Log(begin + absl::Seconds(1), 1, {2});
  ranks.Log(begin + absl::Seconds(11), 1, {2});
  ranks.Log(begin + absl::Seconds(30), 1, {2});
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
  EXPECT_THAT(text, AllOf(HasSubstr("waits for consumers 1 and 2 of 3 to"),
                          HasSubstr("waits for consumer 2 of 3 to")));
}

TEST(PendingRankReporterTest, ATimeoutNamesThemAndTheRemedy) {
  const PendingRankReporter ranks("j", 0, 3);
  const absl::Status status = ranks.TooLong(1, {2}, absl::Seconds(60));
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(ErrorText(status),
              AllOf(HasSubstr("consumer 0 of job \"j\""), HasSubstr("1m"),
                    HasSubstr("consumer 2 of 3"), HasSubstr("`take_over`")));
  const absl::Status passes = ranks.TooLong(
      1, {2}, absl::Seconds(60), PendingRankReporter::Reason::kPasses);
  EXPECT_THAT(ErrorText(passes),
              AllOf(HasSubstr("consumer 2 of 3 to report their"),
                    HasSubstr("continue from tokens")));
}

}  // namespace
}  // namespace feedmill
