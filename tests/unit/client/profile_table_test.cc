#include "client/profile_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "core/definition/pipeline_text.h"
#include "core/ops/builtin_functions.h"

namespace feedmill {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr size_t kMap = ReadProfile::kSteps;
constexpr size_t kFilter = ReadProfile::kSteps + 1;

std::shared_ptr<const AnalyzedGraph> AnalyzedRange() {
  const auto graph = ParseGraphYaml(
      "source: {range: 10}\nsteps: [map: 'x + 1', filter: 'x > 3']\n", "");
  EXPECT_TRUE(graph.ok()) << graph.status();
  const auto analyzed = Analyze(*graph, BuiltinFunctions());
  EXPECT_TRUE(analyzed.ok()) << analyzed.status();
  return *analyzed;
}

std::string TableOf(const ReadProfile::Sums& sums, bool local = true) {
  return ProfileTable({*AnalyzedRange(), local}, sums);
}

// A read of 10 s that almost always waited for its makers.
ReadProfile::Sums Waited() {
  ReadProfile::Sums sums;
  sums.elapsed_s = 10;
  sums.process_cpu_s = 5;
  sums.makers = 1;
  sums.reads.resize(kFilter + 1);
  sums.makes.resize(kFilter + 1);
  sums.works.resize(kFilter + 1);
  sums.reads[ReadProfile::kWaiting] = {9, 0};
  return sums;
}

TEST(ProfileTable, NamesASourceThatIsBlockedBesideABusyStep) {
  ReadProfile::Sums sums = Waited();
  sums.makes[ReadProfile::kSource] = {6, 0.1};
  sums.makes[kMap] = {3, 3};
  EXPECT_THAT(
      TableOf(sums),
      HasSubstr("the reader waits for data 90 % of its time: range(0, "
                "10, 1) takes 67 % of the threads' time, mostly waiting "
                "rather than computing; make it cheaper or add threads "
                "(up to 10.0 times faster)\n"));
}

TEST(ProfileTable, NamesTheBusyStep) {
  ReadProfile::Sums sums = Waited();
  sums.makes[ReadProfile::kSource] = {1, 0.1};
  sums.makes[kMap] = {1, 1};
  sums.makes[kFilter] = {6, 6};
  const std::string table = TableOf(sums);
  EXPECT_THAT(table, HasSubstr("steps[1] filter takes 75 % of the threads' "
                               "time; make it cheaper"));
  EXPECT_THAT(table, Not(HasSubstr("busy")));
}

TEST(ProfileTable, SaysThatThreadsHadNoCore) {
  ReadProfile::Sums sums = Waited();
  sums.makes[kMap] = {3, 3};
  sums.makes_ready_s = 4;
  sums.reads_ready_s = 0.5;
  const std::string table = TableOf(sums);
  EXPECT_THAT(table, HasSubstr("steps[0] map takes 100 %"));
  EXPECT_THAT(table, HasSubstr("; the machine is busy: threads were ready for "
                               "4.500 s without a core\n"));
  EXPECT_THAT(table, ::testing::ContainsRegex(
                         "\nclient  ready, without a core +4\\.500 "));
}

// The reading thread had a core for 2 of 10 s, and waited for most of them.
TEST(ProfileTable, NamesMakersWhereTheReaderHadNoCore) {
  ReadProfile::Sums sums = Waited();
  sums.reads[ReadProfile::kWaiting] = {1.5, 0};
  sums.reads[ReadProfile::kOutput] = {0.5, 0.5};
  sums.reads_ready_s = 8;
  sums.makes[kFilter] = {2, 2};
  EXPECT_THAT(TableOf(sums),
              HasSubstr("waits for data 75 % of its time: steps[1] "
                        "filter takes 100 % of the threads'"));
}

TEST(ProfileTable, NamesTheReadersOwnWork) {
  ReadProfile::Sums sums = Waited();
  sums.reads[ReadProfile::kWaiting] = {0.5, 0};
  sums.reads[ReadProfile::kOutput] = {7.5, 7};
  sums.reads[kFilter] = {2, 2};
  EXPECT_THAT(TableOf(sums),
              HasSubstr("bound by printing: the reader waits for data 5 % of "
                        "its time, and this takes 79 % of the other time; "
                        "without it the read would be up to 4.0 times "
                        "faster\n"));
}

TEST(ProfileTable, NamesTheServiceBetweenIdleWorkersAndTheReader) {
  ReadProfile::Sums sums = Waited();
  sums.works[kMap] = {1, 1};
  EXPECT_THAT(TableOf(sums, false),
              HasSubstr("the reader waits for data 90 % of its time: its "
                        "workers took 1.000 s"));
}

TEST(ProfileTable, HasTheDispatchersVerdict) {
  EXPECT_THAT(ProfileTable({*AnalyzedRange(), false, "printing", "add workers"},
                           Waited()),
              HasSubstr("s CPU; add workers\n"));
}

TEST(ProfileTable, HasTheSameNumbersAsJson) {
  const auto graph =
      ParseGraphYaml("source: {range: 10}\nsteps: [map: 'x + 1']\n", "");
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto analyzed = Analyze(*graph, BuiltinFunctions());
  ASSERT_TRUE(analyzed.ok()) << analyzed.status();
  ReadProfile::Sums sums = Waited();
  sums.makes[kMap] = {3, 2.5, 10, 10, 80};
  sums.reads[ReadProfile::kOutput] = {0.5, 0.25};
  const auto report = nlohmann::json::parse(
      ProfileJson({**analyzed, true, "the application"}, sums));
  EXPECT_EQ(report["elapsed_s"], 10.0);
  EXPECT_EQ(report["cpu_s"], 5.0);
  EXPECT_EQ(report["verdict"],
            "the reader waits for data 90 % of its time: steps[0] map takes "
            "100 % of the threads' time; make it cheaper or add threads (up "
            "to 10.0 times faster)");
  ASSERT_EQ(report["places"].size(), 3u);
  EXPECT_EQ(report["places"][0],
            nlohmann::json::parse(R"({"where": "worker", "name": "steps[0] map",
                "wall_s": 3.0, "cpu_s": 2.5, "rows_in": 10, "rows_out": 10,
                "bytes_out": 80})"));
  EXPECT_EQ(report["places"][1]["name"], "the application");
  EXPECT_EQ(report["places"][2]["wall_s"], 9.0);
}

}  // namespace
}  // namespace feedmill
