// The simulation finds each of the planted bugs.

#include "tests/sim/planted_bugs.h"

#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "tests/sim/simulation.h"

namespace feedmill::sim {
namespace {

constexpr uint64_t kBugSeeds = 8'000;  // a bug must show within them

class Planted : public ::testing::TestWithParam<std::string> {};

// Returns the seed at which the search for a bug begins. It found the bug once,
// and finds it still unless the simulator has changed. This saves minutes.
uint64_t FirstSeed(const std::string& bug) {
  static const std::map<std::string, uint64_t> seeds = {
      {"chunk-outlives-lease", 195}, {"ends-unsettled", 273},
      {"former-leaves-unsaid", 84},  {"hole-left-open", 230},
      {"renew-at-receipt", 223},     {"run-means-restart", 1819},
      {"speaks-uncertain", 177},     {"take-over-ejects", 100}};
  const auto it = seeds.find(bug);
  return it == seeds.end() ? 0 : it->second;
}

TEST_P(Planted, IsFound) {
  const PlantedBug* bug = FindBug(GetParam());
  ASSERT_NE(bug, nullptr);
  Options options;
  options.makers = bug->makers;
  const uint64_t first = FirstSeed(bug->name);
  for (uint64_t k = 0; k < kBugSeeds; ++k) {
    options.seed = first + k;
    const Result result = Simulate(options);
    if (!result.violation) continue;
    std::cout << "seed " << options.seed << ": " << *result.violation << '\n';
    return;
  }
  FAIL() << kBugSeeds << " seeds do not show that rule " << bug->rule
         << " is broken";
}

std::vector<std::string> BugNames() {
  std::vector<std::string> names;
  for (const PlantedBug& bug : PlantedBugs()) names.push_back(bug.name);
  return names;
}

std::string TestName(const ::testing::TestParamInfo<std::string>& bug) {
  std::string name = bug.param;
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
}

INSTANTIATE_TEST_SUITE_P(Bugs, Planted, ::testing::ValuesIn(BugNames()),
                         TestName);

}  // namespace
}  // namespace feedmill::sim
