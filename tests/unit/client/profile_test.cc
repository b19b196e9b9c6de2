#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "core/base/status.h"
#include "feedmill/reader.h"

namespace feedmill {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Returns the place of that name in a report of ToJson.
nlohmann::json PlaceOf(const nlohmann::json& report, const std::string& name) {
  for (const nlohmann::json& place : report["places"]) {
    if (place["name"] == name) return place;
  }
  ADD_FAILURE() << "no place " << name << " in " << report;
  return {};
}

TEST(Profile, ReportsTheStepsOfARead) {
  const auto profile = std::make_shared<Profile>();
  EXPECT_THAT(ErrorText(profile->ToText().status()),
              HasSubstr("no reader has used this profile"));
  const Dataset dataset = Dataset::Range(100'000)
                              .Map([](const Expr& x) { return x * x; })
                              .Filter([](const Expr& x) { return x % 2 == 0; });
  {
    auto reader = Read(dataset, {.hooks = {.profile = profile}});
    ASSERT_TRUE(reader.ok()) << reader.status();
    uint64_t rows = 0;
    for (const Chunk& chunk : (*reader)->chunks()) rows += chunk.rows;
    EXPECT_EQ(rows, 50'000u);
    EXPECT_EQ(profile->ToJson().status().code(),
              absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(ErrorText(profile->ToText().status()),
                HasSubstr("destroy the reader first"));
  }
  const auto text = profile->ToText();
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(*text, StartsWith("profile "));
  EXPECT_THAT(*text, HasSubstr("\nsource  range(0, 100000, 1) "));
  EXPECT_THAT(*text, HasSubstr("\nclient  waiting for elements "));
  const auto json = profile->ToJson();
  ASSERT_TRUE(json.ok()) << json.status();
  const auto report = nlohmann::json::parse(*json);
  EXPECT_EQ(PlaceOf(report, "steps[1] filter")["rows_in"], 100'000);
  EXPECT_EQ(PlaceOf(report, "steps[1] filter")["rows_out"], 50'000);
  EXPECT_EQ(PlaceOf(report, "steps[0] map")["where"], "worker");
}

double ThreadCpuSeconds() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) +
         static_cast<double>(used.tv_nsec) * 1e-9;
}

TEST(Profile, ChargesTheTimeBetweenCallsToTheApplication) {
  const auto profile = std::make_shared<Profile>();
  // The epochs of one dataset share a profile.
  for (uint64_t epoch = 0; epoch < 2; ++epoch) {
    auto reader = Read(Dataset::Range(2),
                       {.epoch = epoch, .hooks = {.profile = profile}});
    ASSERT_TRUE(reader.ok()) << reader.status();
    ASSERT_TRUE((*reader)->Next().ok());
    // The application's work: 10 ms of this thread's CPU time.
    const double begun = ThreadCpuSeconds();
    while (ThreadCpuSeconds() - begun < 0.01) continue;
    ASSERT_TRUE((*reader)->Next().ok());
  }
  const auto json = profile->ToJson();
  ASSERT_TRUE(json.ok()) << json.status();
  const auto application =
      PlaceOf(nlohmann::json::parse(*json), "the application");
  EXPECT_GE(application["wall_s"].get<double>(), 0.01);
  EXPECT_GE(application["cpu_s"].get<double>(), 0.01);
}

}  // namespace
}  // namespace feedmill
