#include "server/notify_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace feedmill {
namespace {

using testing::HasSubstr;

constexpr absl::Time kStart = absl::UnixEpoch();

std::string ErrorOf(const NotifyVariables& variables) {
  return std::string(ParseNotifyVariables(variables, 7).status().message());
}

TEST(NotifyVariables, AreNoneOutsideAServiceManager) {
  const auto target = ParseNotifyVariables({.watchdog_usec = "x"}, 7);
  ASSERT_TRUE(target.ok());
  EXPECT_FALSE(target->has_value());
}

TEST(NotifyVariables, SayWhereToSendAndHowOften) {
  const auto target = ParseNotifyVariables(
      {.socket = "@systemd", .watchdog_usec = "60000000", .watchdog_pid = "7"},
      7);
  ASSERT_TRUE(target.ok() && target->has_value());
  EXPECT_EQ((*target)->socket, "@systemd");
  EXPECT_EQ((*target)->watchdog, absl::Seconds(60));
}

TEST(NotifyVariables, LeaveTheWatchdogOfAnotherProcessAlone) {
  const auto target = ParseNotifyVariables(
      {.socket = "/run/n", .watchdog_usec = "60000000", .watchdog_pid = "8"},
      7);
  ASSERT_TRUE(target.ok() && target->has_value());
  EXPECT_EQ((*target)->watchdog, absl::InfiniteDuration());
}

TEST(NotifyVariables, NamesTheVariableThatIsWrong) {
  EXPECT_THAT(ErrorOf({.socket = "run/n"}), HasSubstr("NOTIFY_SOCKET"));
  EXPECT_THAT(ErrorOf({.socket = "/" + std::string(107, 'n')}),
              HasSubstr("NOTIFY_SOCKET"));
  for (const char* const text : {"0", "-1", "1s", "99999999999999999999"}) {
    EXPECT_THAT(ErrorOf({.socket = "/n", .watchdog_usec = text}),
                HasSubstr("WATCHDOG_USEC"));
  }
  EXPECT_THAT(
      ErrorOf({.socket = "/n", .watchdog_usec = "1", .watchdog_pid = "me"}),
      HasSubstr("WATCHDOG_PID"));
}

TEST(NotifySchedule, TellsReadinessOnceAndTheStatusWhenItChanges) {
  NotifySchedule schedule(absl::InfiniteDuration());
  EXPECT_EQ(schedule.OnProgress(kStart, "0 workers"),
            "READY=1\nSTATUS=0 workers\n");
  EXPECT_EQ(schedule.OnProgress(kStart, "0 workers"), "");
  EXPECT_EQ(schedule.OnProgress(kStart, "1\nworker"), "STATUS=1 worker\n");
  EXPECT_EQ(schedule.OnStopping(), "STOPPING=1\nSTATUS=stopping\n");
  EXPECT_EQ(schedule.OnProgress(kStart, "draining"), "STATUS=draining\n");
}

TEST(NotifySchedule, FeedsTheWatchdogFourTimesInItsPeriod) {
  NotifySchedule schedule(absl::Seconds(8));
  EXPECT_LE(schedule.NextCheck(), kStart);
  EXPECT_THAT(schedule.OnProgress(kStart, "s"), HasSubstr("WATCHDOG=1\n"));
  EXPECT_EQ(schedule.NextCheck(), kStart + absl::Seconds(2));
  EXPECT_EQ(schedule.OnProgress(kStart + absl::Seconds(2), "s"),
            "WATCHDOG=1\n");
}

TEST(NotifySchedule, ChecksASilentServiceAgain) {
  NotifySchedule schedule(absl::Minutes(1));
  schedule.OnSilence(kStart);
  EXPECT_EQ(schedule.NextCheck(), kStart + NotifySchedule::kMaxInterval);
  EXPECT_THAT(schedule.OnProgress(kStart, "s"), HasSubstr("READY=1"));
}

}  // namespace
}  // namespace feedmill
