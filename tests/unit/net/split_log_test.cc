#include "core/net/split_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/net/log.h"

namespace feedmill {
namespace {

using ::testing::HasSubstr;
using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;

const SplitId kSplit{JournalId(5), 17};

WorkerAnswer Leasing() {
  WorkerAnswer answer;
  answer.leases = {{kSplit,
                    {ConsumerId("1/4"), Incarnation(1)},
                    PlanId("ab"),
                    {100, 0},
                    {200, 0},
                    Attempt(2)}};
  return answer;
}

class SplitLogTest : public ::testing::Test {
 protected:
  ~SplitLogTest() override { SetUpLog(LogLevel::kInfo, LogFormat::kText, ""); }
};

TEST_F(SplitLogTest, FollowsASplitThroughDispatcherWorkerAndReader) {
  SetUpLog(LogLevel::kDebug, LogFormat::kText, "x");
  CaptureStderr();
  SplitLog dispatcher;
  WorkerBeat beat;
  beat.worker = WorkerId("tcp://w0:7000");
  dispatcher.Received("peer", beat);
  for (int k = 0; k < 3; ++k) dispatcher.Sent("peer", Leasing());
  SplitLog().Received("", Leasing());
  Frame frame;
  frame.split = kSplit;
  frame.worker = WorkerId("tcp://w0:7000");
  frame.attempt = Attempt(2);
  frame.piece.begin = {100, 0};
  frame.piece.end = {200, 0};
  SplitLog().Received("", frame);
  const std::string text = GetCapturedStderr();
  const std::string leased = "split 17: leased to worker tcp://w0:7000";
  EXPECT_THAT(
      text, HasSubstr(leased + ", attempt 2, positions 100 to 200, for reader "
                               "1/4\n"));
  EXPECT_EQ(text.find(leased), text.rfind(leased));  // once
  EXPECT_THAT(text, HasSubstr("split 17: leased to this worker, attempt 2"));
  EXPECT_THAT(text,
              HasSubstr("split 17: attempt 2: 0 elements came from worker "
                        "tcp://w0:7000, positions 100 to 200\n"));
}

TEST_F(SplitLogTest, WarnsOfAFailedAttemptOnce) {
  SetUpLog(LogLevel::kInfo, LogFormat::kJson, "worker");
  CaptureStderr();
  SplitLog log;
  WorkerBeat beat;
  beat.failures = {{kSplit, Attempt(1), absl::NotFoundError("no a.csv")}};
  log.Sent("", beat);
  log.Sent("", beat);
  log.Sent("", Leasing());  // debug
  const std::string text = GetCapturedStderr();
  EXPECT_THAT(text, HasSubstr(R"("level":"warning","role":"worker","split":17,)"
                              R"("message":"split 17: attempt 1 failed: no )"
                              R"(a.csv"})"
                              "\n"));
  EXPECT_EQ(text.find('\n'), text.size() - 1);
}

TEST_F(SplitLogTest, LeavesOtherLinesWithoutASplit) {
  SetUpLog(LogLevel::kInfo, LogFormat::kJson, "worker");
  CaptureStderr();
  LogInfo("registered");
  EXPECT_THAT(GetCapturedStderr(),
              HasSubstr(R"("role":"worker","message":"registered"})"));
}

}  // namespace
}  // namespace feedmill
