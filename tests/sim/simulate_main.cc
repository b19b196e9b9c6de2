#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <iostream>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/numbers.h"
#include "core/base/status.h"
#include "fmt/format.h"
#include "tests/sim/planted_bugs.h"
#include "tests/sim/simulation.h"

namespace feedmill {
namespace {

constexpr char kSummary[] =
    "Runs whole clusters in this process, each from a seed: the real "
    "dispatcher,\n"
    "workers and readers on a virtual clock, a network that loses, delays and\n"
    "repeats messages, a disk that loses unsynced data, and processes that "
    "die,\n"
    "freeze and come back. Each must keep every promise of the protocol.";
constexpr char kExamples[] =
    "Examples:\n"
    "  feedmill_simulate --seeds 0-9999 --jobs 2\n"
    "  feedmill_simulate --seeds 17 --trace | less\n"
    "  feedmill_simulate --seeds 0-1999 --bug grant-as-difference";
constexpr uint64_t kSeedMax = std::numeric_limits<uint32_t>::max();
constexpr uint64_t kJobsMax = 256;

struct SeedRange {
  uint64_t first = 0;
  uint64_t last = 0;
};

// Parses "17" or "0-9999"; nullopt if it is neither.
std::optional<SeedRange> ParseSeeds(const std::string& text) {
  SeedRange range;
  const size_t dash = text.find('-');
  if (!absl::SimpleAtoi(text.substr(0, dash), &range.first)) return {};
  range.last = range.first;
  if (dash != std::string::npos &&
      !absl::SimpleAtoi(text.substr(dash + 1), &range.last)) {
    return {};
  }
  if (range.first > range.last || range.last > kSeedMax) return {};
  return range;
}

struct Violation {
  uint64_t seed = 0;
  std::string text;
};

// Simulates the seeds of a range on several threads, in order. Stops after the
// first violation.
class Simulations {
 public:
  Simulations(SeedRange range, const sim::Options& options)
      : range_(range), options_(options), next_(range.first) {}

  void Run(uint64_t jobs) {
    std::vector<std::thread> threads;
    running_ = jobs;
    for (uint64_t job = 0; job < jobs; ++job) {
      threads.emplace_back([this] { Work(); });
    }
    Watch();
    for (std::thread& thread : threads) thread.join();
  }

  uint64_t done() const { return done_; }
  const sim::Totals& totals() const { return totals_; }
  const std::optional<Violation>& violation() const { return violation_; }

 private:
  void Work() {
    sim::Options options = options_;
    while (true) {
      options.seed = next_.fetch_add(1);
      if (options.seed > range_.last || failed_.load()) break;
      const sim::Result result = sim::Simulate(options);
      const std::lock_guard lock(mutex_);
      ++done_;
      for (const auto& [name, count] : result.totals) totals_[name] += count;
      if (!result.violation) continue;
      failed_.store(true);
      if (!violation_ || options.seed < violation_->seed) {
        violation_ = Violation{options.seed, *result.violation};
      }
    }
    const std::lock_guard lock(mutex_);
    --running_;
    changed_.notify_all();
  }

  // Draws the progress if stderr is a terminal.
  void Watch() {
    const bool draw = isatty(STDERR_FILENO) != 0 && options_.trace == nullptr;
    const uint64_t total = range_.last - range_.first + 1;
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, std::chrono::milliseconds(200),
                              [this] { return running_ == 0; })) {
      if (!draw) continue;
      constexpr uint64_t kWidth = 30;
      const uint64_t filled = done_ * kWidth / total;
      fmt::print(stderr, "\r\033[K{} of {} seeds  [{}{}] {} %", done_, total,
                 std::string(filled, '='), std::string(kWidth - filled, ' '),
                 done_ * 100 / total);
      std::fflush(stderr);
    }
    if (draw) std::fputs("\r\033[K", stderr);
  }

  const SeedRange range_;
  const sim::Options& options_;
  std::atomic<uint64_t> next_;
  std::atomic<bool> failed_ = false;

  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_ while threads run.
  uint64_t running_ = 0;
  uint64_t done_ = 0;
  sim::Totals totals_;
  std::optional<Violation> violation_;
};

struct Request {
  SeedRange seeds{};
  std::string bug;
  uint64_t jobs = 1;
  bool trace = false;
};

// Plants the bug; throws a usage error if there is none of this name.
sim::Makers MakersFor(const std::string& bug) {
  if (bug.empty()) return sim::RealMakers();
  if (const sim::PlantedBug* found = sim::FindBug(bug)) return found->makers;
  std::string known;
  for (const sim::PlantedBug& planted : sim::PlantedBugs()) {
    known += " " + planted.name;
  }
  throw CLI::ValidationError(
      fmt::format("--bug: '{}' is none of:{}", bug, known));
}

// Simulates, prints the sums, and returns the exit status.
int Run(const Request& request) {
  sim::Options options;
  options.makers = MakersFor(request.bug);
  if (request.trace) options.trace = &std::cout;
  const SeedRange& seeds = request.seeds;
  const auto start = std::chrono::steady_clock::now();
  Simulations simulations(seeds, options);
  simulations.Run(std::min(request.jobs, seeds.last - seeds.first + 1));
  const std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - start;
  for (const auto& [name, count] : simulations.totals()) {
    fmt::print("{:24} {}\n", name, count);
  }
  const std::optional<Violation>& violation = simulations.violation();
  fmt::print("{} seeds in {:.1f} s, {}\n", simulations.done(), seconds.count(),
             violation ? "1 does not hold" : "all hold");
  std::fflush(stdout);
  if (!violation) return 0;
  fmt::print(stderr,
             "feedmill_simulate: seed {}: {}\n"
             "See it with: feedmill_simulate --seeds {} --trace{}\n",
             violation->seed, violation->text, violation->seed,
             request.bug.empty() ? "" : " --bug " + request.bug);
  return 1;
}

int Main(int argc, char** argv) {
  CLI::App app(kSummary, "feedmill_simulate");
  app.footer(kExamples);
  std::string seeds = "0-999";
  Request request;
  request.jobs =
      std::clamp<uint64_t>(std::thread::hardware_concurrency(), 1, kJobsMax);
  app.add_option("--seeds", seeds, "Range of seeds, or one seed")
      ->capture_default_str();
  app.add_option("--jobs", request.jobs, "Seeds simulated at the same time")
      ->check(CLI::Range(uint64_t{1}, kJobsMax))
      ->capture_default_str();
  app.add_flag("--trace", request.trace,
               "Print every message, event and fault of one seed");
  app.add_option("--bug", request.bug,
                 "Plant this mistake first: a seed must then fail");
  try {
    app.parse(argc, argv);
    const std::optional<SeedRange> range = ParseSeeds(seeds);
    if (!range) {
      throw CLI::ValidationError(
          fmt::format("--seeds {}: write 0-9999 or 17", seeds));
    }
    request.seeds = *range;
    if (request.trace && range->first != range->last) {
      throw CLI::ValidationError("--trace is of one seed: --seeds 17");
    }
    return Run(request);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
}

}  // namespace
}  // namespace feedmill

int main(int argc, char** argv) { return feedmill::Main(argc, argv); }
