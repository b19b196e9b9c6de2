#include "broker/event_ring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "broker/load_window.h"

namespace feedmill {
namespace {

using ::testing::EndsWith;

const absl::Time kStart = absl::FromUnixSeconds(100);

OperatorEvent Event(NoteKind kind, bool warning, const std::string& text) {
  return {.kind = kind, .warning = warning, .text = text, .job = "j"};
}

TEST(EventRing, GivesTheLastInTheirOrder) {
  EventRing ring;
  ring.Add(kStart, Event(NoteKind::kJob, false, "a"));
  ring.Add(kStart, Event(NoteKind::kWorkerLost, true, "b"));
  ring.Add(kStart, Event(NoteKind::kJob, false, "c"));
  const std::vector<OperatorEvent> last = ring.Last(2);
  ASSERT_EQ(last.size(), 2u);
  EXPECT_EQ(last[0].text, "b");
  EXPECT_EQ(last[1].text, "c");
  EXPECT_EQ(last[1].id, 3u);
}

TEST(EventRing, KeepsWarningsThroughManyOtherEvents) {
  EventRing ring;
  ring.Add(kStart, Event(NoteKind::kWorkerLost, true, "lost"));
  for (size_t k = 0; k < 10 * EventRing::kEventsKept; ++k) {
    ring.Add(kStart, Event(NoteKind::kJob, false, "began"));
  }
  const std::vector<OperatorEvent> all = ring.Last(1'000'000);
  EXPECT_EQ(all.size(), EventRing::kEventsKept + 1);
  EXPECT_EQ(all.front().text, "lost");
}

TEST(EventRing, CountsAttemptsOfAJobTogetherForAWhile) {
  EventRing ring;
  for (int k = 0; k < 3; ++k) {
    ring.Add(kStart + absl::Seconds(k), Event(NoteKind::kAttempt, true, "x"));
  }
  ASSERT_EQ(ring.Last(9).size(), 1u);
  EXPECT_EQ(ring.Last(9)[0].count, 3u);
  EXPECT_EQ(ring.Last(9)[0].first, kStart);
  EXPECT_EQ(ring.Last(9)[0].last, kStart + absl::Seconds(2));
  ring.Add(kStart + absl::Seconds(2), Event(NoteKind::kRetry, false, "y"));
  ring.Add(kStart + absl::Minutes(1), Event(NoteKind::kAttempt, true, "x"));
  EXPECT_EQ(ring.Last(9).size(), 3u);
}

TEST(EventRing, KeepsTheLastRecordsThatWereLeftOut) {
  EventRing ring;
  for (int k = 0; k < 12; ++k) {
    OperatorEvent event = Event(NoteKind::kSkipped, true, "left out");
    event.records = {"record " + std::to_string(k) + " of a"};
    ring.Add(kStart, event);
  }
  const std::vector<OperatorEvent> last = ring.Last(9);
  ASSERT_EQ(last.size(), 1u);
  EXPECT_EQ(last[0].count, 12u);
  ASSERT_EQ(last[0].records.size(), EventRing::kRecordsKept);
  EXPECT_EQ(last[0].records.front(), "record 4 of a");
  EXPECT_EQ(last[0].records.back(), "record 11 of a");
}

TEST(EventRing, CutsLongTextsBetweenCharacters) {
  EventRing ring;
  std::string text(EventRing::kTextMax - 1, 'x');
  ring.Add(kStart, Event(NoteKind::kJob, false, text + "äöü"));
  EXPECT_THAT(ring.Last(1)[0].text, EndsWith("x…"));
}

TEST(StepUse, HalvesRowsWithTheirTime) {
  StepUse use;
  const StepCost cost{4, 1'000, 500, 10, 10, 80};
  use.Add(kStart, cost);
  use.Add(kStart + absl::Seconds(6), cost);
  const StepCost& sum = use.steps().at(4);
  EXPECT_EQ(sum.wall_ns, 1'500u);
  EXPECT_EQ(sum.cpu_ns, 750u);
  EXPECT_EQ(sum.rows_out, 15u);
  EXPECT_EQ(use.totals().at(4).rows_out, 20u);
}

}  // namespace
}  // namespace feedmill
