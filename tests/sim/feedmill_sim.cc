#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <string>

#include "tests/sim/planted_bugs.h"
#include "tests/sim/simulation.h"

// Runs simulations by seed:
//
//   feedmill_sim --seed 17 --trace        every message of one
//   feedmill_sim --seed 0 --count 10000   all must hold
//   feedmill_sim --count 500 --bug NAME   one must fail

namespace feedmill::sim {
namespace {

struct Flags {
  uint64_t seed = 0;
  uint64_t count = 1;
  bool trace = false;
  bool go_on = false;
  std::string bug;
};

int RunSeeds(const Flags& flags) {
  Options options;
  if (!flags.bug.empty()) {
    const PlantedBug* bug = FindBug(flags.bug);
    if (bug == nullptr) {
      std::cerr << "feedmill_sim: there is no bug '" << flags.bug
                << "'; there are:";
      for (const PlantedBug& b : PlantedBugs()) std::cerr << ' ' << b.name;
      std::cerr << '\n';
      return 2;
    }
    options.makers = bug->makers;
  }
  if (flags.trace) options.trace = &std::cout;
  const auto start = std::chrono::steady_clock::now();
  Totals totals;
  uint64_t run = 0;
  uint64_t violations = 0;
  while (run < flags.count) {
    options.seed = flags.seed + run++;
    const Result result = Simulate(options);
    for (const auto& [name, count] : result.totals) totals[name] += count;
    if (!result.violation) continue;
    ++violations;
    std::cout << fmt::format("seed {}: {}\n", options.seed, *result.violation);
    if (!flags.go_on) break;
  }
  for (const auto& [name, count] : totals) {
    std::cout << fmt::format("{:24} {}\n", name, count);
  }
  const std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - start;
  std::cout << fmt::format("{} seeds, {} violations, {:.0f} seeds/s\n", run,
                           violations,
                           static_cast<double>(run) / seconds.count());
  return violations > 0 ? 1 : 0;
}

}  // namespace
}  // namespace feedmill::sim

int main(int argc, char** argv) {
  feedmill::sim::Flags flags;
  CLI::App app("Simulates a cluster from a seed and checks what it promises");
  app.add_option("--seed", flags.seed, "the first seed");
  app.add_option("--count", flags.count, "how many seeds, one after another");
  app.add_flag("--trace", flags.trace, "print every message");
  app.add_flag("--all", flags.go_on, "do not stop at the first violation");
  app.add_option("--bug", flags.bug, "plant this mistake");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return feedmill::sim::RunSeeds(flags);
}
