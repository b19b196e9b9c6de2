#include "core/pipeline/read_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/definition/pipeline_text.h"
#include "core/ops/builtin_functions.h"
#include "core/pipeline/run_delay.h"
#include "tests/unit/pipeline/local_reader.h"

namespace feedmill {
namespace {

using Place = ReadProfile::Place;

TEST(ReadProfile, EachMomentIsForOnePlace) {
  ReadProfile profile;
  EXPECT_EQ(ReadProfile::Lane::Current(), nullptr);
  {
    const ReadProfile::Use use(profile.AddLane(ReadProfile::Role::kReads));
    const ProfileSpan outer(Place::kOutput);
    for (int k = 0; k < 1000; ++k) {
      const ProfileSpan inner(Place::kWaiting);
    }
    ReadProfile::Lane::Current()->At(Place::kOutput).rows_in += 7;
    EXPECT_EQ(ReadProfile::Lane::Current()->place(), Place::kOutput);
  }
  EXPECT_EQ(ReadProfile::Lane::Current(), nullptr);
  const ReadProfile::Sums sums = profile.Sum();
  const ReadProfile::Cost& outer = sums.reads[Place::kOutput];
  const ReadProfile::Cost& inner = sums.reads[Place::kWaiting];
  EXPECT_GT(outer.wall_s, 0);
  EXPECT_GT(inner.wall_s, 0);
  EXPECT_LE(outer.wall_s + inner.wall_s, sums.elapsed_s);
  EXPECT_EQ(outer.rows_in, 7U);
  EXPECT_EQ(sums.makers, 0U);
}

// Binds the calling thread, and the threads it starts, to one core.
void StayOnThisCore() {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
}

double Now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Four threads compete for one core. One step computes, the next waits for a
// pipe.
TEST(ReadProfile, ChargesNoPlaceForTimeReadyWithoutACore) {
  constexpr double kReady = 0.05;
  constexpr double kBlocked = 0.1;
  constexpr double kGivenUp = 60;
  const size_t computes = Place::kSteps;
  const size_t blocks = Place::kSteps + 1;
  std::array<int, 2> pipe_ends{};
  ASSERT_EQ(pipe(pipe_ends.data()), 0);
  ReadProfile profile;
  double ready = 0;
  double waited = 0;
  std::thread([&] {
    StayOnThisCore();
    std::atomic<bool> stop = false;
    std::vector<std::thread> spinners;
    for (int k = 0; k < 3; ++k) {
      spinners.emplace_back([&] {
        while (!stop) continue;
      });
    }
    {
      const ReadProfile::Use use(profile.AddLane(ReadProfile::Role::kMakes));
      {
        const ProfileSpan span(computes);
        const double begun = Now();
        const double before = RunDelaySeconds();
        while (ready < kReady && Now() < begun + kGivenUp) {
          ready = RunDelaySeconds() - before;
        }
      }
      const double begun = Now();
      std::thread writer([&] {
        while (Now() < begun + kBlocked) continue;
        EXPECT_EQ(write(pipe_ends[1], "x", 1), 1);
        waited = Now() - begun;
      });
      {
        const ProfileSpan span(blocks);
        char byte = 0;
        EXPECT_EQ(read(pipe_ends[0], &byte, 1), 1);
      }
      writer.join();
    }
    stop = true;
    for (std::thread& spinner : spinners) spinner.join();
  }).join();
  close(pipe_ends[0]);
  close(pipe_ends[1]);
  ASSERT_GE(ready, kReady) << "this kernel has no run-queue delay";
  const ReadProfile::Sums sums = profile.Sum();
  const ReadProfile::Cost& computing = sums.makes[computes];
  EXPECT_LT(computing.wall_s, computing.cpu_s + ready / 5);
  EXPECT_GE(sums.makes_ready_s, ready * 4 / 5);
  EXPECT_EQ(sums.reads_ready_s, 0);
  const ReadProfile::Cost& blocked = sums.makes[blocks];
  EXPECT_GE(blocked.wall_s, kBlocked * 4 / 5);
  EXPECT_LE(blocked.wall_s, waited + 0.01);
  EXPECT_LT(blocked.cpu_s, kBlocked / 5);
}

TEST(ReadProfile, FramesNameTheirPlaces) {
  for (const size_t place :
       {size_t{Place::kRest}, size_t{Place::kSource}, size_t{Place::kChunks},
        Place::kSteps + size_t{7}}) {
    const auto named = FramePlaceOf(place);
    ASSERT_TRUE(named.has_value());
    EXPECT_EQ(PlaceOfFrame(*named), place);
  }
  EXPECT_EQ(FramePlaceOf(Place::kSteps), 3U);
  EXPECT_EQ(FramePlaceOf(Place::kWaiting), std::nullopt);
  EXPECT_EQ(FramePlaceOf(Place::kSteps + 0xffff), std::nullopt);
  ReadProfile profile;
  profile.AddWork(Place::kSource, {1, 0.5, 0, 3, 24});
  profile.AddWork(Place::kSource, {1, 0.5, 0, 3, 24});
  EXPECT_EQ(profile.Sum().works[Place::kSource].rows_out, 6U);
  EXPECT_EQ(profile.Sum().reads.size(), profile.Sum().works.size());
}

// Counts the rows in and out of each step, on workers and on the client.
TEST(ReadProfile, CountsWhatEachStepTakesAndGives) {
  const auto graph = ParseGraphYaml(
      "source: {range: 10000}\n"
      "steps: [map: 'x * 2', filter: 'x % 4 == 0', batch: 100, "
      "map: 'sum(x)', filter: 'x > -1']\n"
      "options: {seed: 1}\n",
      "");
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto profile = std::make_shared<ReadProfile>();
  LocalSequenceOptions options;
  options.threads = 2;
  options.profile = profile;
  auto reader = LocalReader::Make(
      *graph, std::make_shared<const FunctionRegistry>(BuiltinFunctions()),
      options);
  ASSERT_TRUE(reader.ok()) << reader.status();
  {
    const ReadProfile::Use use(profile->AddLane(ReadProfile::Role::kReads));
    while (true) {
      const auto chunk = (*reader)->Next(absl::InfiniteFuture());
      ASSERT_TRUE(chunk.ok()) << chunk.status();
      if (!chunk->has_value()) break;
    }
  }
  reader->reset();
  const ReadProfile::Sums sums = profile->Sum();
  EXPECT_EQ(sums.makers, 2U);
  ASSERT_EQ(sums.makes.size(), sums.reads.size());
  ASSERT_EQ(sums.reads.size(), Place::kSteps + 5U);
  EXPECT_EQ(sums.makes[Place::kSource].rows_out, 10000U);
  const auto expect = [](const ReadProfile::Cost& cost, uint64_t in,
                         uint64_t out) {
    EXPECT_EQ(cost.rows_in, in);
    EXPECT_EQ(cost.rows_out, out);
    EXPECT_GT(cost.wall_s, 0);
  };
  expect(sums.makes[Place::kSteps], 10000, 10000);
  expect(sums.makes[Place::kSteps + 1], 10000, 5000);
  expect(sums.reads[Place::kSteps + 2], 5000, 50);
  expect(sums.reads[Place::kSteps + 3], 50, 50);
  expect(sums.reads[Place::kSteps + 4], 50, 50);
  EXPECT_GE(sums.makes[Place::kSteps].bytes_out, 80000U);
}

}  // namespace
}  // namespace feedmill
