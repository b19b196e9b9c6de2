#include "tools/command/top_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/base/status.h"

namespace feedmill {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const absl::Time kBegun = absl::FromUnixSeconds(1'000);

// A status as a dispatcher of another release might give it, too: parts may be
// missing.
std::string StatusText(int taken) {
  return fmt::format(
      R"({{"jobs": [
        {{"name": "old", "state": "finished", "run": 1}},
        {{"name": "train", "state": "running", "run": 1, "positions": 1000,
          "ranks": 2, "positions_taken": {}, "waits_percent": 90,
          "elements_per_s": 12345, "taken_percent": 10.0, "bound_by": "step",
          "verdict": {{"bound_by": "step", "where": "steps[0] map",
            "sentence": "the reader waits for data 90 % of its time"}},
          "steps": [{{"name": "range", "share_percent": 2}},
            {{"name": "steps[0] map", "share_percent": 98, "cpu_percent": 40,
              "cpu_us_per_element": 8.5}}],
          "sessions": [{{"consumer": "0/2", "waits_percent": 90}},
            {{"consumer": "1/2", "waits_percent": 95}}]}}],
      "workers": [{{"address": "tcp://h:1#key", "leases": 2,
        "busy_percent": 50, "speed_percent": 10}}],
      "totals": {{"jobs": 2, "workers": 1}},
      "events": [{{"age_s": 3, "kind": "worker lost", "warning": true,
        "text": "lost worker\nx", "count": 2}}]}})",
      taken);
}

std::string Text(const TopView& view, absl::Time now, size_t width = 120,
                 size_t height = 50) {
  std::string text;
  for (const TopLine& line : view.Lines(now, width, height)) {
    for (const TopSpan& span : line) text += span.text;
    text += "\n";
  }
  return text;
}

TEST(TopViewTest, ShowsTheVerdictOfTheReadJobAndItsEvidence) {
  TopView view("d0:5050");
  view.Add(kBegun, absl::OkStatus(), StatusText(100));
  const std::string text = Text(view, kBegun);
  EXPECT_THAT(text, HasSubstr("train is bound by step  steps[0] map"));
  EXPECT_THAT(text, HasSubstr("waits for data 90 % of its time"));
  EXPECT_THAT(text, HasSubstr("12.3K/s"));
  EXPECT_THAT(text, HasSubstr("straggler"));
  EXPECT_THAT(text, HasSubstr("worker lost x2"));
  EXPECT_THAT(text, HasSubstr("lost worker?x"));
  EXPECT_THAT(text, Not(HasSubstr("#key")));
  EXPECT_LT(text.find("1/2"),
            text.find("0/2"));  // the longest wait comes first
}

TEST(TopViewTest, ComputesTheTimeLeftFromTheLastSeconds) {
  TopView view("d0:5050");
  view.Add(kBegun, absl::OkStatus(), StatusText(100));
  EXPECT_THAT(Text(view, kBegun), Not(HasSubstr(" 9 s")));
  view.Add(kBegun + absl::Seconds(10), absl::OkStatus(), StatusText(1'100));
  EXPECT_THAT(Text(view, kBegun), HasSubstr(" 9 s"));
}

TEST(TopViewTest, ShowsNoTimeLeftForAnInfiniteJob) {
  TopView view("d0:5050");
  view.Add(kBegun, absl::OkStatus(),
           R"({"jobs": [{"name": "j", "state": "running", "positions": null,
             "infinite": true}]})");
  EXPECT_THAT(Text(view, kBegun), HasSubstr("no end"));
}

TEST(TopViewTest, ChoosesAnotherJob) {
  TopView view("d0:5050");
  view.Add(kBegun, absl::OkStatus(), StatusText(100));
  view.Press(TopView::Key::kDown);
  EXPECT_THAT(Text(view, kBegun), HasSubstr("old is finished"));
  view.Press(TopView::Key::kDown);
  EXPECT_THAT(Text(view, kBegun), HasSubstr("old is finished"));
  view.Press(TopView::Key::kUp);
  EXPECT_THAT(Text(view, kBegun), HasSubstr("train is bound by step"));
}

TEST(TopViewTest, SaysSinceWhenThereIsNoAnswer) {
  TopView view("d0:5050");
  view.Add(kBegun, DeadlineExceeded("no dispatcher answered"), "");
  EXPECT_THAT(Text(view, kBegun), HasSubstr("no answer"));
  view.Add(kBegun, absl::OkStatus(), StatusText(100));
  EXPECT_THAT(Text(view, kBegun), HasSubstr("live"));
  view.Add(kBegun, DeadlineExceeded("no dispatcher answered"), "");
  const std::string text = Text(view, kBegun + absl::Seconds(7));
  EXPECT_THAT(text, HasSubstr("last seen 7 s ago"));
  EXPECT_THAT(text, HasSubstr("train is bound by step"));
}

TEST(TopViewTest, FitsScreensOfAllSizesAndTakesAnyStatus) {
  for (const std::string& status :
       {StatusText(5), std::string("{}"), std::string("[]"), std::string("x"),
        std::string(R"({"jobs": [{}], "workers": [3], "events": [{}]})"),
        std::string(R"({"jobs": [3, null], "events": [1]})"),
        std::string(R"({"jobs": 3, "workers": {}, "totals": []})"),
        std::string(R"({"jobs": [{"name": "é…", "verdict": {}}]})")}) {
    TopView view("d0:5050");
    view.Add(kBegun, absl::OkStatus(), status);
    for (const size_t width : {0U, 1U, 2U, 3U, 20U, 80U, 300U}) {
      for (const size_t height : {0U, 1U, 2U, 5U, 24U, 100U}) {
        const std::vector<TopLine> lines = view.Lines(kBegun, width, height);
        EXPECT_LE(lines.size(), height);
        for (const TopLine& line : lines) {
          size_t used = 0;
          for (const TopSpan& span : line) used += span.text.size();
          EXPECT_LE(used, width);
        }
      }
    }
  }
}

}  // namespace
}  // namespace feedmill
