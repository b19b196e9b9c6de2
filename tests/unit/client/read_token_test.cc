#include "client/read_token.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/dataset/graph_text.h"
#include "core/definition/pipeline_text.h"
#include "core/plan/plan_id.h"
#include "tests/unit/worker/delivery_vocabulary.h"

namespace feedmill {
namespace {

using ::testing::HasSubstr;
using testing::MakePiece;
using testing::ValuesOf;

Graph Pipeline(const std::string& yaml) {
  absl::StatusOr<Graph> graph = ParseGraphYaml(yaml, "/");
  EXPECT_TRUE(graph.ok()) << graph.status();
  return graph.ok() ? *graph : Graph{};
}

constexpr char kBatches[] =
    "source: {range: {stop: 100}}\n"
    "steps: [{filter: 'x % 3 == 0'}, {batch: {size: 4}}]\n"
    "options: {seed: 5}";

ReadToken TokenOf(const Graph& graph) {
  ReadToken token;
  token.parts = PartsOf(graph);
  token.fingerprint = Fingerprint(graph);
  token.plan = PlanIdOf(token.fingerprint, "", 5, 2);
  token.seed = 5;
  token.iteration = 2;
  token.incarnation = 1'700'000'000'000'000'000;
  token.place.cursor = {17, 3};
  token.place.skip = 4;
  token.place.elements = 1'000;
  token.place.stage.position = 17;
  token.place.stage.steps.resize(2);
  token.place.stage.steps[0].left = 7;
  StageState::Step& batch = token.place.stage.steps[1];
  batch.made = 12;
  batch.held.push_back(
      std::make_shared<const StageState::Held>(StageState::Held{
          MakePiece(14, 17).chunk, {{1, 0}, {2, 5}, {3, 0}}, {0, 0, 1}}));
  return token;
}

TEST(ReadToken, ComesBackAsItWas) {
  const ReadToken token = TokenOf(Pipeline(kBatches));
  const std::string bytes = EncodeToken(token);
  EXPECT_LE(bytes.size(), 1024);
  const absl::StatusOr<ReadToken> back = DecodeToken(bytes);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(EncodeToken(*back), bytes);
  EXPECT_EQ(back->parts, token.parts);
  EXPECT_EQ(back->plan, token.plan);
  EXPECT_EQ(back->iteration, 2);
  EXPECT_EQ(back->place.cursor, (Cursor{17, 3}));
  EXPECT_EQ(back->place.skip, 4);
  EXPECT_EQ(back->place.elements, 1'000);
  const StageState::Step& batch = back->place.stage.steps.at(1);
  EXPECT_EQ(batch.made, 12);
  Piece held;
  held.chunk = batch.held.at(0)->chunk;
  EXPECT_EQ(ValuesOf(held), (std::vector<int64_t>{14'000, 15'000, 16'000}));
  EXPECT_EQ(batch.held[0]->counters.at(1), (Cursor{2, 5}));
  EXPECT_EQ(batch.held[0]->passes.at(2), 1);
}

TEST(ReadToken, KeepsWhatIsKnownOfTheRunsPasses) {
  ReadToken token = TokenOf(Pipeline(kBatches));
  token.passes = 300;
  for (const bool settled : {false, true}) {
    token.settled = settled;
    const auto back = DecodeToken(EncodeToken(token));
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(back->passes, 300);
    EXPECT_EQ(back->settled, settled);
    EXPECT_TRUE(back->place.stage.steps.at(1).groups.empty());
    EXPECT_TRUE(CheckTokenPasses(*back, 300).ok());
    EXPECT_EQ(CheckTokenPasses(*back, 301).ok(), !settled);
    EXPECT_THAT(ErrorText(CheckTokenPasses(*back, 0)),
                HasSubstr("this is a reading of one pass"));
  }
  ReadToken other = token;
  token.share = {0, 2};
  other.share = {1, 2};
  token.settled = false;
  other.passes = 301;
  other.place.elements += 1;
  const auto merged = MergeTokens({token, other});
  ASSERT_TRUE(merged.ok()) << merged.status();
  EXPECT_EQ(merged->passes, 301);
  EXPECT_TRUE(merged->settled);
  token.passes = 302;  // only promised
  EXPECT_EQ(MergeTokens({token, other})->passes, 301);
  EXPECT_EQ(MergeTokens({other, token})->passes, 301);
  token.settled = true;
  EXPECT_THAT(ErrorText(MergeTokens({token, other}).status()),
              HasSubstr("302 passes for one of them, and 301 for 1/2"));
}

TEST(ReadToken, HasOnlyTheRowsThatGroupsHold) {
  ReadToken token = TokenOf(Pipeline(kBatches));
  StageState::Step& step = token.place.stage.steps[1];
  const auto block = [](uint64_t begin) {
    StageState::Held held;
    held.chunk = MakePiece(begin, begin + 5).chunk;
    return std::make_shared<const StageState::Held>(std::move(held));
  };
  step.held = {block(10), block(20)};
  step.rows = {{1, 3}, {0, 2}, {1, 0}};
  step.groups = {2, 0, 1};
  const auto back = DecodeToken(EncodeToken(token));
  ASSERT_TRUE(back.ok()) << back.status();
  const StageState::Step& read = back->place.stage.steps.at(1);
  EXPECT_EQ(read.groups, step.groups);
  ASSERT_EQ(read.held.size(), 1u);
  EXPECT_EQ(read.rows.size(), 3u);
  Piece held;
  held.chunk = read.held[0]->chunk;
  EXPECT_EQ(ValuesOf(held), (std::vector<int64_t>{23'000, 12'000, 20'000}));
  EXPECT_TRUE(back->place.stage.steps.at(0).groups.empty());
}

TEST(ReadToken, EveryDamagedByteIsNoticed) {
  const std::string bytes = EncodeToken(TokenOf(Pipeline(kBatches)));
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x20);
    EXPECT_FALSE(DecodeToken(damaged).ok()) << at;
    EXPECT_FALSE(DecodeToken(bytes.substr(0, at)).ok()) << at;
  }
}

TEST(ReadToken, HasTheStateOfAGenerator) {
  ReadToken token = TokenOf(Pipeline(kBatches));
  const std::string without = EncodeToken(token);
  const auto with = [&](Cursor at, size_t bytes) {
    token.place.state = std::make_shared<const GeneratorState>(
        GeneratorState{at, std::string(bytes, 's')});
    return EncodeToken(token);
  };
  const std::string bytes = with({17, 2}, 100);
  const absl::StatusOr<ReadToken> back = DecodeToken(bytes);
  ASSERT_TRUE(back.ok()) << back.status();
  ASSERT_NE(back->place.state, nullptr);
  EXPECT_EQ(back->place.state->at, (Cursor{17, 2}));
  EXPECT_EQ(back->place.state->bytes, std::string(100, 's'));
  EXPECT_EQ(EncodeToken(*back), bytes);
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x20);
    EXPECT_FALSE(DecodeToken(damaged).ok()) << at;
  }
  // It must lead to the token's place, and has a limit.
  EXPECT_TRUE(DecodeToken(with({17, 3}, kRowStateMax)).ok());
  EXPECT_FALSE(DecodeToken(with({17, 4}, 1)).ok());
  EXPECT_FALSE(DecodeToken(with({16, 0}, 1)).ok());
  EXPECT_FALSE(DecodeToken(with({17, 3}, kRowStateMax + 1)).ok());
  token.place.state = nullptr;
  EXPECT_EQ(EncodeToken(token), without);
}

// The sequence of another release differs.
TEST(ReadToken, RefusesATokenOfAnotherRelease) {
  std::string bytes = EncodeToken(TokenOf(Pipeline(kBatches)));
  const size_t version = bytes.find('3');
  ASSERT_LT(version, bytes.find('\n'));
  bytes[version] = '2';
  const absl::Status status = DecodeToken(bytes).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(ErrorText(status), HasSubstr("another release"));
  EXPECT_THAT(ErrorText(DecodeToken("feedmill").status()),
              HasSubstr("no token of a reader"));
}

TEST(ReadToken, SaysWhatOfThePipelineDiffers) {
  const ReadToken token = TokenOf(Pipeline(kBatches));
  const auto check = [&](const std::string& yaml) {
    return ErrorText(CheckToken(token, Pipeline(yaml)));
  };
  EXPECT_TRUE(CheckToken(token, Pipeline(kBatches)).ok());
  EXPECT_THAT(check("source: {range: {stop: 101}}\n"
                    "steps: [{filter: 'x % 3 == 0'}, {batch: {size: 4}}]"),
              HasSubstr("its source differs"));
  EXPECT_THAT(check("source: {range: {stop: 100}}\n"
                    "steps: [{filter: 'x % 3 == 0'}, {batch: {size: 5}}]"),
              HasSubstr("steps[1] is not this one's batch"));
  EXPECT_THAT(check("source: {range: {stop: 100}}\n"
                    "steps: [{filter: 'x % 3 == 0'}]"),
              HasSubstr("it had 2 steps, this one has 1"));
  EXPECT_THAT(check("source: {range: {stop: 100}}\n"
                    "steps: [{filter: 'x % 3 == 0'}, {batch: {size: 4}}]\n"
                    "options: {seed: 6}"),
              HasSubstr("seed 5, the pipeline has seed 6"));
  EXPECT_THAT(check("source: {range: {stop: 100}}\n"
                    "steps: [{filter: 'x % 3 == 0'}, {batch: {size: 4}}]\n"
                    "options: {order: any}"),
              HasSubstr("order any"));
  EXPECT_TRUE(CheckTokenPlan(token, token.plan).ok());
  EXPECT_THAT(ErrorText(CheckTokenPlan(token, "other")),
              HasSubstr("files changed"));
}

std::vector<int64_t> Keep(PlaceTracker& tracker, int64_t begin, int64_t end) {
  Piece piece =
      MakePiece(static_cast<uint64_t>(begin), static_cast<uint64_t>(end));
  piece.chunk = tracker.Keep(std::move(piece.chunk));
  std::vector<int64_t> values = ValuesOf(piece);
  for (int64_t& value : values) value /= 1'000;
  return values;
}

TEST(PlaceTracker, CountsWhatCameSinceTheLastPiece) {
  PlaceTracker tracker;
  tracker.Feed({10, 0}, {});
  EXPECT_EQ(Keep(tracker, 0, 5).size(), 5);
  EXPECT_EQ(tracker.Before(2)->cursor, (Cursor{10, 0}));
  EXPECT_EQ(tracker.Before(2)->skip, 3);
  EXPECT_EQ(tracker.Before(2)->elements, 3);
  EXPECT_FALSE(tracker.Before(6).has_value());

  PlaceTracker again;
  again.ContinueFrom(*tracker.Before(2));
  EXPECT_EQ(again.Before(0)->skip, 3);
  again.Feed({10, 0}, {});
  EXPECT_EQ(Keep(again, 0, 2), std::vector<int64_t>());  // smaller pieces now
  again.Feed({12, 0}, {});
  EXPECT_EQ(again.Before(0)->cursor, (Cursor{12, 0}));
  EXPECT_EQ(again.Before(0)->skip, 1);
  EXPECT_EQ(Keep(again, 2, 4), std::vector<int64_t>{3});
  EXPECT_EQ(again.Before(0)->skip, 2);
  EXPECT_EQ(again.Before(0)->elements, 4);
}

TEST(PlaceTracker, ARankKeepsItsOwnAndStandsJustAfterThem) {
  PlaceTracker tracker({.share = {1, 3}, .skips = {{3, 6}}});
  tracker.Feed({0, 0}, {});
  EXPECT_EQ(Keep(tracker, 0, 5), std::vector<int64_t>{1});
  tracker.Feed({50, 0}, {});
  EXPECT_EQ(Keep(tracker, 5, 14), (std::vector<int64_t>{7, 10, 13}));
  EXPECT_EQ(tracker.Before(0)->cursor, (Cursor{50, 0}));
  EXPECT_EQ(tracker.Before(0)->elements, 14);
  EXPECT_EQ(tracker.Before(2)->elements, 8);
  EXPECT_EQ(tracker.Before(2)->number(), 5);
  // The position is in the piece before, also after skipped elements.
  EXPECT_EQ(tracker.Before(3)->cursor, (Cursor{0, 0}));
  EXPECT_EQ(tracker.Before(3)->elements, 2);
  EXPECT_EQ(tracker.Before(4)->elements, 0);
  // Pieces without own elements do not move the position.
  tracker.Feed({80, 0}, {});
  EXPECT_EQ(Keep(tracker, 14, 16), std::vector<int64_t>());
  tracker.Feed({90, 0}, {});
  EXPECT_EQ(tracker.Before(0)->elements, 14);
  EXPECT_EQ(tracker.Before(0)->cursor, (Cursor{50, 0}));
}

TEST(ElementsFrom, CountsTheSharesWithoutSkips) {
  for (const uint64_t ranks : {1U, 3U}) {
    for (uint64_t rank = 0; rank < ranks; ++rank) {
      const ReadRules rules = {.share = {rank, ranks},
                               .skips = {{3, 6}, {9, 15}}};
      for (uint64_t from = 0; from < 22; ++from) {
        uint64_t count = 0;
        for (uint64_t n = from; n < 20; ++n) {
          count += n % ranks == rank && (n < 3 || n >= 6) && (n < 9 || n >= 15);
        }
        EXPECT_EQ(ElementsFrom(rules, from, 20), count) << rank << " " << from;
      }
    }
  }
}

TEST(PlaceTracker, ANumberIsAPlaceWhereThePlanKnowsIt) {
  PlaceTracker tracker({.share = {1, 3}, .skips = {{3, 6}}, .numbered = true});
  tracker.Feed({0, 0}, {});
  // Workers send the elements of this rank: 1, 4, 7.
  EXPECT_EQ(Keep(tracker, 0, 3), (std::vector<int64_t>{0, 2}));
  EXPECT_EQ(tracker.Before(0)->cursor, (Cursor{8, 0}));
  EXPECT_EQ(tracker.Before(0)->skip, 0);
  EXPECT_EQ(tracker.Before(1)->cursor, (Cursor{2, 0}));
  EXPECT_EQ(tracker.NeededFrom(2), 2);
  EXPECT_EQ(tracker.NeededFrom(3), 6);
}

}  // namespace
}  // namespace feedmill
