#include "client/even_elements.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "feedmill/loader.h"
#include "feedmill/token.h"

namespace feedmill {
namespace {

std::vector<int64_t> From(const std::vector<int64_t>& values, size_t begin) {
  return {values.begin() + static_cast<ptrdiff_t>(begin), values.end()};
}

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

EvenRules Rules(Even even, Share share, uint64_t total,
                std::vector<NumberRange> skips = {}) {
  EvenRules rules;
  rules.even = even;
  rules.rules = {share, std::move(skips)};
  rules.total = total;
  return rules;
}

TEST(EvenOut, LeavesOutTheLastElementsOrRepeatsThem) {
  for (uint64_t total = 0; total < 20; ++total) {
    for (uint64_t ranks = 1; ranks < 6; ++ranks) {
      for (uint64_t rank = 0; rank < ranks; ++rank) {
        const Share share{rank, ranks};
        const uint64_t own = share.Below(total);
        const EvenShare drop = EvenOut(Rules(Even::kDrop, share, total), own);
        EXPECT_EQ(drop.left, total / ranks);
        EXPECT_FALSE(drop.pads);
        const EvenShare pad = EvenOut(Rules(Even::kPad, share, total), own);
        EXPECT_EQ(pad.left + (pad.pads ? 1 : 0), (total + ranks - 1) / ranks);
      }
    }
  }
}

TEST(EvenOut, CountsFromThePlaceWhereRanksBegan) {
  // Elements 3 to 7 of 8, for two ranks: 1 has 3, 5, 7.
  EvenRules rules = Rules(Even::kDrop, {1, 2}, 8);
  rules.start = 3;
  EXPECT_EQ(EvenOut(rules, 3).left, 2);
  rules.rules.share.rank = 0;
  EXPECT_EQ(EvenOut(rules, 2).left, 2);
  rules.even = Even::kPad;
  EXPECT_TRUE(EvenOut(rules, 2).pads);
  rules.padded = true;
  EXPECT_FALSE(EvenOut(rules, 0).pads);
}

TEST(LastOfRank, PassesOverSkippedElements) {
  const ReadRules rules{{1, 2}, {{2, 4}, {6, 10}}};
  EXPECT_EQ(LastOfRank(rules, 11), 5);
  EXPECT_EQ(LastOfRank(rules, 12), 11);
  EXPECT_EQ(LastOfRank(rules, 5), 1);
  EXPECT_EQ(LastOfRank(rules, 1), std::nullopt);
  EXPECT_EQ(LastOfRank({{0, 1}, {{0, 4}}}, 4), std::nullopt);
}

struct Part {
  std::vector<int64_t> values;
  std::vector<std::string> tokens;  // before each element, and at the end
  absl::Status status;
};

Part ReadPart(const Dataset& dataset, ReadOptions options) {
  Part part;
  const auto reader = Read(dataset, std::move(options));
  if (!reader.ok()) {
    part.status = reader.status();
    return part;
  }
  part.tokens.push_back((*reader)->Save().value());
  for (const Element& element : **reader) {
    part.values.push_back(element.Get<int64_t>());
    part.tokens.push_back((*reader)->Save().value());
  }
  part.status = (*reader)->status();
  return part;
}

TEST(EvenElements, GivesEachRankAsManyElements) {
  const Dataset dataset = Dataset::Range(5);
  EXPECT_THAT(
      ReadPart(dataset, {.rank = {.index = 0, .count = 2, .even = Even::kDrop}})
          .values,
      ElementsAre(0, 2));
  EXPECT_THAT(
      ReadPart(dataset, {.rank = {.index = 1, .count = 2, .even = Even::kDrop}})
          .values,
      ElementsAre(1, 3));
  EXPECT_THAT(
      ReadPart(dataset, {.rank = {.index = 0, .count = 2, .even = Even::kPad}})
          .values,
      ElementsAre(0, 2, 4));
  EXPECT_THAT(
      ReadPart(dataset, {.rank = {.index = 1, .count = 2, .even = Even::kPad}})
          .values,
      ElementsAre(1, 3, 3));
}

TEST(EvenElements, ContinuesFromEachPlace) {
  const Dataset dataset = Dataset::Range(17).Shuffle().WithSeed(3);
  for (const Even even : {Even::kDrop, Even::kPad}) {
    for (uint64_t rank = 0; rank < 3; ++rank) {
      const Part whole = ReadPart(
          dataset, {.rank = {.index = rank, .count = 3, .even = even}});
      ASSERT_TRUE(whole.status.ok()) << whole.status;
      ASSERT_EQ(whole.values.size(), even == Even::kDrop ? 5 : 6);
      for (size_t k = 0; k < whole.tokens.size(); ++k) {
        const Part rest = ReadPart(
            dataset, {.rank = {.index = rank, .count = 3, .even = even},
                      .resume = {.token = whole.tokens[k]}});
        EXPECT_TRUE(rest.status.ok()) << rest.status;
        EXPECT_EQ(rest.values, From(whole.values, k));
      }
    }
  }
}

// Only reading tells how many elements there are.
TEST(EvenElements, CountsBySeeingTheEnd) {
  for (const int64_t size : {0, 1, 7, 40, 41}) {
    const Dataset dataset = Dataset::Range(size)
                                .Shuffle()
                                .Filter(Expr::Named("x") % 3 != 0)
                                .WithSeed(3);
    const auto all = static_cast<size_t>(size - (size + 2) / 3);
    for (const Even even : {Even::kDrop, Even::kPad}) {
      for (uint64_t rank = 0; rank < 3; ++rank) {
        const ReadOptions options{
            .rank = {.index = rank, .count = 3, .even = even}};
        const Part whole = ReadPart(dataset, options);
        if (even == Even::kPad && all > 0 && rank >= all) {
          EXPECT_THAT(ErrorText(whole.status), HasSubstr("use \"drop\""));
          continue;
        }
        ASSERT_TRUE(whole.status.ok()) << whole.status;
        ASSERT_EQ(whole.values.size(),
                  even == Even::kDrop ? all / 3 : (all + 2) / 3);
        for (size_t k = 0; k < whole.tokens.size(); ++k) {
          ReadOptions from = options;
          from.resume.token = whole.tokens[k];
          const Part rest = ReadPart(dataset, from);
          EXPECT_TRUE(rest.status.ok()) << rest.status;
          EXPECT_EQ(rest.values, From(whole.values, k));
        }
      }
    }
  }
}

TEST(EvenElements, LosesNothingBeforeAnError) {
  const Dataset dataset =
      Dataset::Range(10)
          .Map([](const Expr& x) { return FloorDivide(Expr(100), x - 7); })
          .Filter(Expr::Named("x") != 0);
  const Part part = ReadPart(
      dataset, {.rank = {.index = 0, .count = 2, .even = Even::kDrop}});
  EXPECT_FALSE(part.status.ok());
  EXPECT_THAT(part.values, ElementsAre(-15, -20, -34, -100));
}

TEST(EvenElements, DividesAgainAfterAMergedToken) {
  const Dataset dataset = Dataset::Range(10).WithSeed(1);
  std::vector<std::string> tokens;
  for (uint64_t rank = 0; rank < 3; ++rank) {
    tokens.push_back(
        ReadPart(dataset,
                 {.rank = {.index = rank, .count = 3, .even = Even::kDrop}})
            .tokens.at(1));
  }
  const std::string merged = Token::Merge(tokens).value();  // 0 to 2 are read
  const Part zero =
      ReadPart(dataset, {.rank = {.index = 0, .count = 2, .even = Even::kDrop},
                         .resume = {.token = merged}});
  EXPECT_THAT(zero.values, ElementsAre(4, 6, 8));
  const Part one =
      ReadPart(dataset, {.rank = {.index = 1, .count = 2, .even = Even::kDrop},
                         .resume = {.token = merged}});
  EXPECT_THAT(one.values, ElementsAre(3, 5, 7));
  EXPECT_THAT(
      ReadPart(dataset, {.rank = {.index = 1, .count = 2, .even = Even::kDrop},
                         .resume = {.token = one.tokens.at(3)}})
          .values,
      IsEmpty());
}

TEST(EvenElements, AsksAllRanksWhereOnlyReadingCounts) {
  const Dataset dataset =
      Dataset::Range(10).Filter(Expr::Named("x") % 3 != 0).Batch(1).Unbatch();
  ReadOptions options{.rank = {.index = 1, .count = 2, .even = Even::kPad}};
  // 1 4 7 and 2 5 8: the other rank has one element more.
  int calls = 0;
  options.rank.agree = [&](bool have) {
    ++calls;
    return RanksWithElement{.all = have && calls <= 4, .any = calls <= 4};
  };
  const Part padded = ReadPart(dataset, options);
  EXPECT_TRUE(padded.status.ok()) << padded.status;
  EXPECT_THAT(padded.values, ElementsAre(2, 5, 8, 8));
  EXPECT_EQ(calls, 5);
  for (size_t k = 0; k <= 4; ++k) {
    calls = static_cast<int>(k);
    options.resume.token = padded.tokens.at(k);
    const Part rest = ReadPart(dataset, options);
    EXPECT_TRUE(rest.status.ok()) << rest.status;
    EXPECT_EQ(rest.values, From(padded.values, k));
  }
  options.resume.token.clear();
  options.rank.agree = [](bool) -> absl::StatusOr<RanksWithElement> {
    return absl::AbortedError("a rank is lost");
  };
  EXPECT_THAT(ErrorText(ReadPart(dataset, options).status),
              HasSubstr("a rank is lost"));
}

TEST(EvenElements, RefusesDatasetsThatItCannotEvenOut) {
  EXPECT_THAT(
      ErrorText(ReadPart(Dataset::Range(2),
                         {.rank = {.index = 2, .count = 3, .even = Even::kPad}})
                    .status),
      HasSubstr("fewer elements than ranks"));
  EXPECT_THAT(ErrorText(ReadPart(Dataset::Range(2).WithOrder(Order::kAny),
                                 {.rank = {.count = 3, .even = Even::kDrop}})
                            .status),
              HasSubstr("needs order deterministic"));
}

TEST(EvenElements, CountsAndNumbersItsElements) {
  const auto reader =
      Read(Dataset::Range(5),
           {.rank = {.index = 1, .count = 2, .even = Even::kPad}});
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ((*reader)->total(), 5);
  EXPECT_EQ((*reader)->left(), 3);
  uint64_t left = 3;
  for ([[maybe_unused]] const Element& element : **reader) {
    EXPECT_EQ((*reader)->left(), --left);
  }
  EXPECT_EQ((*reader)->number().value(), 3);
  Loader loader(Dataset::Range(5),
                {.rank = {.index = 0, .count = 2, .even = Even::kDrop}});
  for (int epoch = 0; epoch < 2; ++epoch) {
    int count = 0;
    for ([[maybe_unused]] const Element& element : loader) ++count;
    EXPECT_EQ(count, 2);
    EXPECT_TRUE(loader.status().ok()) << loader.status();
  }
}

}  // namespace
}  // namespace feedmill
