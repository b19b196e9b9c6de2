#include "tools/command/profile_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "core/definition/pipeline_text.h"
#include "core/ops/builtin_functions.h"

namespace feedmill {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr size_t kMap = ReadProfile::kSteps;
constexpr size_t kFilter = ReadProfile::kSteps + 1;

std::string TableOf(const ReadProfile::Sums& sums, bool local = true) {
  const auto graph = ParseGraphYaml(
      "source: {range: 10}\nsteps: [map: 'x + 1', filter: 'x > 3']\n", "");
  EXPECT_TRUE(graph.ok()) << graph.status();
  const auto analyzed = Analyze(*graph, BuiltinFunctions());
  EXPECT_TRUE(analyzed.ok()) << analyzed.status();
  return ProfileTable(**analyzed, sums, local);
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
  EXPECT_THAT(TableOf(sums),
              HasSubstr("bounded by range(0, 10, 1), 67 % of what the threads "
                        "that make elements do\n"));
}

TEST(ProfileTable, NamesTheBusyStep) {
  ReadProfile::Sums sums = Waited();
  sums.makes[ReadProfile::kSource] = {1, 0.1};
  sums.makes[kMap] = {1, 1};
  sums.makes[kFilter] = {6, 6};
  const std::string table = TableOf(sums);
  EXPECT_THAT(table, HasSubstr("bounded by steps[1] filter, 75 %"));
  EXPECT_THAT(table, Not(HasSubstr("busy")));
}

TEST(ProfileTable, SaysThatThreadsHadNoCore) {
  ReadProfile::Sums sums = Waited();
  sums.makes[kMap] = {3, 3};
  sums.makes_ready_s = 4;
  sums.reads_ready_s = 0.5;
  const std::string table = TableOf(sums);
  EXPECT_THAT(table, HasSubstr("bounded by steps[0] map, 100 %"));
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
  EXPECT_THAT(TableOf(sums), HasSubstr("bounded by steps[1] filter, 100 % of "
                                       "what the threads that make elements"));
}

}  // namespace
}  // namespace feedmill
