#include "tests/sim/simulation.h"

#include <gtest/gtest.h>

#include <iostream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace feedmill::sim {
namespace {

// With a sanitizer, which takes several times as long, a tenth of them.
constexpr uint64_t kSeeds = FEEDMILL_SIMULATED_SEEDS;

// Returns the least sum of kSeeds seeds; `of_600`: the least sum of 600. Sums
// of fewer seeds are not compared.
constexpr uint64_t Floor(uint64_t of_600) { return kSeeds == 600 ? of_600 : 0; }

// Simulates a third of the seeds, each of which must hold; returns the sums of
// the counts.
Totals SumOfSeeds(Options options) {
  Totals totals;
  for (options.seed = 0; options.seed < kSeeds / 3; ++options.seed) {
    const Result result = Simulate(options);
    EXPECT_FALSE(result.violation)
        << "seed " << options.seed << ": " << result.violation.value_or("");
    for (const auto& [name, count] : result.totals) totals[name] += count;
  }
  return totals;
}

Result SimulateSeed(uint64_t seed) {
  Options options;
  options.seed = seed;
  return Simulate(options);
}

TEST(Simulation, ManySeedsHold) {
  Totals totals;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Result result = SimulateSeed(seed);
    ASSERT_FALSE(result.violation)
        << "seed " << seed << ": " << *result.violation
        << "\nsee it with: feedmill_simulate --trace --seeds " << seed;
    for (const auto& [name, count] : result.totals) totals[name] += count;
  }
  for (const auto& [name, count] : totals) {
    std::cout << name << ": " << count << '\n';
  }
  // A simulation without faults would prove nothing.
  const Totals floors = {{"fault: break", 200},
                         {"fault: partition", 200},
                         {"fault: worker crash", 200},
                         {"fault: worker freeze", 200},
                         {"fault: worker flaky", 200},
                         {"fault: drain", 200},
                         {"fault: new worker", 200},
                         {"fault: reader crash", 200},
                         {"fault: reader freeze", 200},
                         {"fault: reader leaves", 200},
                         {"fault: intruder", 100},
                         {"late deaths", 10},
                         {"dispatcher crashes", 300},
                         {"dispatchers wiped", 100},
                         {"events lost", 20},
                         {"messages lost", 1'000},
                         {"messages duplicated", 1'000},
                         {"messages reordered", 100},
                         {"leases again", 2'000},
                         {"cheap tasks", 10'000},
                         {"large cheap tasks", 3'000},
                         {"tasks failed", 100},
                         {"workers drained", 50},
                         {"sessions released", 20},
                         {"readers refused", 8},
                         {"intruders let in", 1},
                         {"unsaid leaves", 15},
                         {"stops within a chunk", 4},
                         {"readers resumed", 100},
                         {"epochs named", 200},
                         {"ranks changed", 30},
                         {"ranks went back", 10},
                         {"iterations begun again", 5},
                         {"iterations of ranks", 200},
                         {"ranks told to wait", 100},
                         {"data errors", 20},
                         {"side jobs", 100},
                         {"workers unfit", 100},
                         {"passes added", 30},
                         {"runs settled", 80},
                         {"iterations", 400},
                         {"elements", 20'000},
                         {"replays compared", 2'000}};
  for (const auto& [name, floor] : floors) {
    EXPECT_GE(totals[name], Floor(floor)) << name;
  }
}

// Additional seeds; each of them once found a fault.
TEST(Simulation, SeedsThatWereHardHold) {
  for (const uint64_t seed :
       {1714U,    2357U,    2537U,    2339U,    2959U,    6670U,   7401U,
        8227U,    9602U,    9979U,    10486U,   25137U,   3877U,   4609U,
        36569U,   17685U,   19115U,   44626U,   9200U,    112204U, 2979U,
        7817U,    8530U,    9318U,    154988U,  208064U,  214490U, 217776U,
        3766877U, 6308332U, 6511063U, 8668773U, 10611393U}) {
    Options options;
    options.seed = seed;
    for (const bool names_epochs : {false, true}) {
      options.names_epochs = names_epochs;
      const Result result = Simulate(options);
      EXPECT_FALSE(result.violation)
          << "seed " << seed << ": " << result.violation.value_or("");
    }
  }
}

TEST(Simulation, RegisteredDatasetsOutliveCrashes) {
  Totals totals = SumOfSeeds({.registers_datasets = true});
  EXPECT_GE(totals["datasets registered"], Floor(200));
  EXPECT_GE(totals["datasets refused"], Floor(200));
  EXPECT_GE(totals["dispatcher crashes"], Floor(50));
}

TEST(Simulation, TracedJobsHold) {
  Totals totals = SumOfSeeds({.traces_jobs = true});
  EXPECT_GE(totals["traces asked for"], Floor(200));
  EXPECT_GE(totals["traces complete"], Floor(50));
  EXPECT_GE(totals["spans"], Floor(5'000));
  EXPECT_GE(totals["clocks compared"], Floor(500));
  EXPECT_GE(totals["dispatcher crashes"], Floor(50));
}

TEST(Simulation, GeneratorsContinueFromTheirStates) {
  Totals totals = SumOfSeeds({.generates = true});
  EXPECT_GE(totals["states given"], Floor(500));
  EXPECT_GE(totals["readers resumed"], Floor(50));
  // A shard begins again only if no state came before its first place.
  EXPECT_GE(totals["shards continued"], 20 * totals["shards begun again"]);
}

TEST(Simulation, ASeedIsTheSameEachTime) {
  std::set<uint64_t> hashes;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Result first = SimulateSeed(seed);
    const Result second = SimulateSeed(seed);
    EXPECT_EQ(first.trace_hash, second.trace_hash) << seed;
    EXPECT_EQ(first.totals, second.totals) << seed;
    hashes.insert(first.trace_hash);
  }
  EXPECT_EQ(hashes.size(), 20);
}

TEST(Simulation, TracingChangesNothing) {
  Options options;
  options.seed = 3;
  std::ostringstream text;
  options.trace = &text;
  EXPECT_EQ(Simulate(options).trace_hash, SimulateSeed(3).trace_hash);
  EXPECT_NE(text.str().find("hands out"), std::string::npos);
}

}  // namespace
}  // namespace feedmill::sim
