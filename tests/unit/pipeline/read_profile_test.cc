#include "core/pipeline/read_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "core/dataset/graph_text.h"
#include "core/ops/builtin_functions.h"
#include "core/pipeline/local_reader.h"

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

// Rows in and out of each step, in workers' stages and in the client's.
TEST(ReadProfile, CountsWhatEachStepTakesAndGives) {
  const auto graph = ParseGraphYaml(
      "source: {range: 10000}\n"
      "steps: [map: 'x * 2', filter: 'x % 4 == 0', batch: 100, "
      "map: 'sum(x)', filter: 'x > -1']\n"
      "options: {seed: 1}\n",
      "");
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto profile = std::make_shared<ReadProfile>();
  LocalReaderOptions options;
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
