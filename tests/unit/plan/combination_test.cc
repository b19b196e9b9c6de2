#include "core/plan/combination.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <string>

#include "core/base/status.h"
#include "core/operators/registry.h"
#include "core/plan/mixture_schedule.h"
#include "core/plan/plan.h"

namespace feedmill {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Shares = std::vector<uint64_t>;
using Random = std::mt19937_64;
using Stop = MixtureSource::Stop;

uint64_t Sum(const Shares& shares) {
  return std::accumulate(shares.begin(), shares.end(), uint64_t{0});
}

// ---- the schedule of a mixture

// After any n elements every input has given the floor or the ceiling of its
// share.
void ExpectFair(const Shares& shares, uint64_t elements) {
  const MixtureSchedule schedule({{0, shares}});
  const uint64_t sum = Sum(shares);
  Shares given(shares.size(), 0);
  for (uint64_t n = 0; n < elements; ++n) {
    const MixtureSchedule::InputElement place = schedule.At(n);
    ASSERT_LT(place.input, shares.size());
    ASSERT_EQ(place.count, given[place.input]) << n;
    ++given[place.input];
    // Checks all shares if there are few; otherwise the changed one. The
    // other shares can only approach their limits, which is checked when they
    // change.
    for (size_t i = 0; i < shares.size(); ++i) {
      if (shares.size() > 64 && i != place.input && n % 997 != 0) continue;
      const uint64_t exact = (n + 1) * shares[i];
      ASSERT_GE(given[i], exact / sum) << "input " << i << ", n " << n + 1;
      ASSERT_LE(given[i], exact / sum + (exact % sum != 0))
          << "input " << i << ", n " << n + 1;
    }
  }
}

TEST(MixtureScheduleTest, SharesAreTheFloorOrTheCeilingAfterAnyElement) {
  ExpectFair({7, 3}, 100);
  ExpectFair({1}, 10);
  ExpectFair({1, 1, 1}, 100);
  ExpectFair({90, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 1000);
  Random random(1);
  for (int trial = 0; trial < 300; ++trial) {
    Shares shares(1 + random() % 12);
    for (uint64_t& share : shares) {
      share = 1 + random() % (random() % 3 == 0 ? 500 : 10);
    }
    SCOPED_TRACE(::testing::PrintToString(shares));
    ExpectFair(shares, 2 * Sum(shares) + 5);
    if (HasFatalFailure()) return;
  }
}

TEST(MixtureScheduleTest, PhasesCountFromTheirBegin) {
  const MixtureSchedule schedule(
      {{0, {3, 1, 2}}, {5, {0, 1, 1}}, {9, {2, 2, 0}}});
  const std::vector<Shares> phases = {{3, 1, 2}, {0, 1, 1}, {2, 2, 0}};
  Shares given(3, 0);
  Shares before(3, 0);
  uint64_t begin = 0;
  for (uint64_t n = 0; n < 60; ++n) {
    if (n == 5 || n == 9) {
      begin = n;
      before = given;
    }
    const Shares& shares = phases[n < 5 ? 0 : n < 9 ? 1 : 2];
    for (size_t i = 0; i < 3; ++i) EXPECT_EQ(schedule.Count(i, n), given[i]);
    const MixtureSchedule::InputElement place = schedule.At(n);
    ASSERT_EQ(place.count, given[place.input]) << n;
    EXPECT_EQ(schedule.IndexOf(place.input, place.count), n);
    ++given[place.input];
    for (size_t i = 0; i < 3; ++i) {
      const uint64_t exact = (n + 1 - begin) * shares[i];
      const uint64_t sum = Sum(shares);
      EXPECT_GE(given[i] - before[i], exact / sum) << n;
      EXPECT_LE(given[i] - before[i], exact / sum + (exact % sum != 0)) << n;
    }
  }
  EXPECT_EQ(schedule.IndexOf(2, given[2]), UINT64_MAX);
}

TEST(MixtureScheduleTest, AlsoOfManyInputsAndFineShares) {
  ExpectFair(Shares(1000, 1), 3000);
  Shares fine(700, 3);
  fine[5] = 100'000;
  fine[699] = 77;
  ExpectFair(fine, Sum(fine) + 1000);
  ExpectFair({524'287, 524'288, 1}, 1'100'000);
}

TEST(MixtureScheduleTest, TheFirstOfEqualsComesFirst) {
  const auto order = [](Shares shares) {
    const MixtureSchedule schedule({{0, shares}});
    std::string out;
    for (uint64_t n = 0; n < 2 * Sum(shares); ++n) {
      out += static_cast<char>('a' + schedule.At(n).input);
    }
    return out;
  };
  EXPECT_EQ(order({1, 1}), "abab");
  EXPECT_EQ(order({1, 2, 1}), "babcbabc");
  EXPECT_EQ(order({7, 3}), "aabaabaaabaabaabaaab");
}

TEST(MixtureScheduleTest, CountsAndFindsWithoutGoingThere) {
  const Shares shares = {5, 1, 9, 2};
  const MixtureSchedule schedule({{0, shares}});
  Shares given(4, 0);
  for (uint64_t n = 0; n < 100; ++n) {
    for (size_t i = 0; i < 4; ++i) EXPECT_EQ(schedule.Count(i, n), given[i]);
    const uint32_t input = schedule.At(n).input;
    EXPECT_EQ(schedule.IndexOf(input, given[input]), n);
    ++given[input];
  }
  const uint64_t far = uint64_t{1} << 62;
  EXPECT_EQ(schedule.Count(2, 17 * (far / 17)), 9 * (far / 17));
  EXPECT_EQ(schedule.IndexOf(1, ~uint64_t{0}), ~uint64_t{0});
}

// ---- orders

std::shared_ptr<const Combination> Make(const Source& source,
                                        std::vector<uint64_t> sizes,
                                        uint64_t limit = kInfinite) {
  auto made = CombineInputs(source, std::move(sizes), limit);
  EXPECT_TRUE(made.ok()) << ErrorText(made.status());
  return *made;
}

std::vector<InputPlace> First(const Combination& combination, uint64_t count) {
  std::vector<uint64_t> indexes(std::min(combination.size(), count));
  std::iota(indexes.begin(), indexes.end(), uint64_t{0});
  std::vector<InputPlace> places(indexes.size());
  combination.Find(indexes, places);
  return places;
}

// Formats places as "a0 a1 b0"; a second turn has an upper-case letter.
std::string Text(const Combination& combination, uint64_t count = 100) {
  std::string out;
  for (const InputPlace& place : First(combination, count)) {
    if (!out.empty()) out += ' ';
    out += static_cast<char>((place.turn > 0 ? 'A' : 'a') + place.input);
    out += std::to_string(place.position);
  }
  return out;
}

Source Concatenated(size_t inputs) {
  return MakeSource(ConcatenateSource{std::vector<Graph>(inputs)});
}
Source Interleaved(size_t inputs, int64_t cycle, int64_t block) {
  return MakeSource(InterleaveSource{std::vector<Graph>(inputs), cycle, block});
}
Source Mixed(std::vector<double> weights, Stop stop) {
  const size_t inputs = weights.size();
  return MakeSource(
      MixtureSource{std::vector<Graph>(inputs), std::move(weights), stop});
}

TEST(CombinationTest, ConcatenatesAlsoWhatIsEmpty) {
  EXPECT_EQ(Text(*Make(Concatenated(4), {2, 0, 3, 0})), "a0 a1 c0 c1 c2");
  EXPECT_EQ(Text(*Make(Concatenated(3), {0, 0, 1})), "c0");
  EXPECT_EQ(Make(Concatenated(2), {0, 0})->size(), 0u);
  const auto infinite = Make(Concatenated(2), {2, kInfinite});
  EXPECT_EQ(infinite->size(), kInfinite);
  EXPECT_EQ(Text(*infinite, 4), "a0 a1 b0 b1");
  const uint64_t half = uint64_t{1} << 62;
  EXPECT_EQ(Make(Concatenated(2), {half, half})->size(), 2 * half);
  EXPECT_THAT(
      ErrorText(
          CombineInputs(Concatenated(3), {half, half, 1}, kInfinite).status()),
      HasSubstr("more than 2^63"));
}

TEST(CombinationTest, AZipIsAsLongAsItsShortest) {
  const Source zip = MakeSource(ZipSource{std::vector<Graph>(3)});
  EXPECT_EQ(Make(zip, {5, 3, kInfinite})->size(), 3u);
  EXPECT_EQ(Make(zip, {5, 3, kInfinite})->Used(2), 3u);
  EXPECT_EQ(Make(zip, {kInfinite, kInfinite, kInfinite})->size(), kInfinite);
}

TEST(CombinationTest, InterleavesAsTfDataDoes) {
  // The example of tf.data.Dataset.interleave's documentation.
  EXPECT_EQ(Text(*Make(Interleaved(5, 2, 4), {6, 6, 6, 6, 6})),
            "a0 a1 a2 a3 b0 b1 b2 b3 a4 a5 b4 b5 c0 c1 c2 c3 d0 d1 d2 d3 "
            "c4 c5 d4 d5 e0 e1 e2 e3 e4 e5");
  EXPECT_EQ(Text(*Make(Interleaved(2, 0, 1), {2, 3})), "a0 b0 a1 b1 b2");
  EXPECT_EQ(Text(*Make(Interleaved(3, 1, 2), {2, 0, 3})), "a0 a1 c0 c1 c2");
  EXPECT_EQ(Text(*Make(Interleaved(2, 9, 2), {kInfinite, 3}), 9),
            "a0 a1 b0 b1 a2 a3 b2 a4 a5");
}

TEST(CombinationTest, AMixtureStopsByItsRule) {
  const Source first = Mixed({0.5, 0.5}, Stop::kFirstExhausted);
  EXPECT_EQ(Text(*Make(first, {2, 5})), "a0 b0 a1 b1");
  EXPECT_EQ(Text(*Make(first, {5, 2})), "a0 b0 a1 b1 a2");
  EXPECT_EQ(Make(first, {0, 5})->size(), 0u);
  EXPECT_EQ(Make(first, {kInfinite, kInfinite})->size(), kInfinite);
  const Source all = Mixed({0.5, 0.5}, Stop::kAllExhausted);
  EXPECT_EQ(Text(*Make(all, {2, 3})), "a0 b0 a1 b1 A0 b2");
  EXPECT_EQ(Text(*Make(all, {3, 2})), "a0 b0 a1 b1 a2");
  EXPECT_EQ(Make(all, {3, kInfinite})->size(), kInfinite);
  const Source repeat = Mixed({2, 1}, Stop::kRepeat);
  EXPECT_EQ(Make(repeat, {3, 1})->size(), kInfinite);
  EXPECT_EQ(Text(*Make(repeat, {3, 1}), 6), "a0 a1 b0 a2 A0 B0");
  for (const Source& source : {all, repeat}) {
    EXPECT_THAT(ErrorText(CombineInputs(source, {3, 0}, kInfinite).status()),
                HasSubstr("inputs[1] has no elements"));
  }
  const uint64_t huge = (uint64_t{1} << 63) - 1;
  EXPECT_THAT(ErrorText(CombineInputs(all, {huge, 1}, kInfinite).status()),
              HasSubstr("more than 2^63"));
}

// Interleaves one element at a time.
std::vector<std::pair<uint32_t, uint64_t>> NaiveInterleave(
    const std::vector<uint64_t>& sizes, size_t cycle, uint64_t block) {
  std::vector<std::pair<uint32_t, uint64_t>> out;
  std::vector<int64_t> entries(cycle, -1);
  std::vector<uint64_t> taken(sizes.size(), 0);
  size_t next = 0;
  for (size_t entry = 0;; entry = (entry + 1) % cycle) {
    if (next == sizes.size() &&
        std::all_of(entries.begin(), entries.end(),
                    [](int64_t input) { return input < 0; })) {
      return out;
    }
    if (entries[entry] < 0 && next < sizes.size()) {
      entries[entry] = static_cast<int64_t>(next++);
    }
    if (entries[entry] < 0) continue;
    const auto input = static_cast<uint32_t>(entries[entry]);
    for (uint64_t k = 0; k < block; ++k) {
      if (taken[input] == sizes[input]) {
        entries[entry] = -1;
        break;
      }
      out.emplace_back(input, taken[input]++);
    }
  }
}

TEST(CombinationTest, AnInterleaveOfAnySizesIsTheNaiveOne) {
  Random random(2);
  for (int trial = 0; trial < 500; ++trial) {
    std::vector<uint64_t> sizes(1 + random() % 7);
    for (uint64_t& size : sizes) size = random() % 30;
    const auto cycle = static_cast<int64_t>(1 + random() % 8);
    const auto block = static_cast<int64_t>(1 + random() % 6);
    const auto made = Make(Interleaved(sizes.size(), cycle, block), sizes);
    const auto naive = NaiveInterleave(sizes, static_cast<size_t>(cycle),
                                       static_cast<uint64_t>(block));
    SCOPED_TRACE(::testing::PrintToString(sizes) + " cycle " +
                 std::to_string(cycle) + " block " + std::to_string(block));
    ASSERT_EQ(made->size(), naive.size());
    const auto places = First(*made, made->size());
    for (size_t n = 0; n < naive.size(); ++n) {
      ASSERT_EQ(places[n].input, naive[n].first) << n;
      ASSERT_EQ(places[n].position, naive[n].second) << n;
    }
  }
}

Source RandomOrder(Random& random, size_t inputs) {
  switch (random() % 3) {
    case 0:
      return Concatenated(inputs);
    case 1:
      return Interleaved(inputs, static_cast<int64_t>(random() % 5),
                         static_cast<int64_t>(1 + random() % 4));
    default: {
      std::vector<double> weights(inputs);
      for (double& weight : weights) {
        weight = static_cast<double>(1 + random() % 30) / 10;
      }
      return Mixed(std::move(weights), static_cast<Stop>(random() % 3));
    }
  }
}

// Random access equals reading in order; positions are consecutive; the used
// elements are those that come.
TEST(CombinationTest, RandomAccessIsReadingInOrder) {
  Random random(3);
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<uint64_t> sizes(1 + random() % 6);
    for (uint64_t& size : sizes) size = 1 + random() % 40;
    if (random() % 4 == 0) sizes.back() = kInfinite;
    const Source source = RandomOrder(random, sizes.size());
    const uint64_t limit = random() % 2 == 0 ? 200 : kInfinite;
    const auto made = Make(source, sizes, limit);
    const std::vector<InputPlace> places = First(*made, 300);
    std::vector<uint64_t> used(sizes.size(), 0);
    for (size_t n = 0; n < places.size(); ++n) {
      const InputPlace& place = places[n];
      ASSERT_EQ(place.turn * (place.turn > 0 ? sizes[place.input] : 0) +
                    place.position,
                used[place.input])
          << n;
      ASSERT_LT(place.position, sizes[place.input]);
      ++used[place.input];
    }
    for (int k = 0; k < 50 && !places.empty(); ++k) {
      const uint64_t n = random() % places.size();
      InputPlace one;
      made->Find({&n, 1}, {&one, 1});
      ASSERT_EQ(one, places[n]) << n;
    }
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (made->size() > 300) break;
      ASSERT_EQ(made->Used(i), used[i]);
      const uint64_t turns =
          sizes[i] == kInfinite ? 1 : (used[i] + sizes[i] - 1) / sizes[i];
      ASSERT_EQ(made->Turns(i), std::max<uint64_t>(1, turns));
    }
  }
}

// Elements of infinite inputs repeat after `period` elements.
TEST(CombinationTest, TwoRoundsInARowHoldAllThatComesAfterThem) {
  using Element = std::pair<uint32_t, uint64_t>;
  Random random(5);
  for (int trial = 0; trial < 300; ++trial) {
    const size_t inputs = 1 + random() % 5;
    const Source source = RandomOrder(random, inputs);
    std::vector<uint64_t> sizes(inputs), rounds(inputs);
    for (size_t i = 0; i < inputs; ++i) {
      rounds[i] = 1 + random() % 20;
      const bool last = i + 1 == inputs;
      sizes[i] = last || random() % 2 == 0 ? kInfinite : rounds[i];
    }
    // Inputs after an infinite input never come.
    if (source.Is<ConcatenateSource>()) {
      std::copy(rounds.begin(), rounds.end() - 1, sizes.begin());
    }
    const auto made = Make(source, sizes);
    if (made->size() != kInfinite) continue;
    const uint64_t round = made->Round(rounds);
    ASSERT_GT(round, 0u);
    const std::vector<InputPlace> places = First(*made, 6 * round);
    const auto in = [&](uint64_t begin, uint64_t end) {
      std::set<Element> elements;
      for (uint64_t n = begin; n < end; ++n) {
        elements.emplace(places[n].input,
                         places[n].position % rounds[places[n].input]);
      }
      return elements;
    };
    SCOPED_TRACE(::testing::PrintToString(sizes) + " rounds " +
                 ::testing::PrintToString(rounds));
    for (const uint64_t begin : {uint64_t{0}, random() % (2 * round)}) {
      const std::set<Element> seen = in(begin, begin + 2 * round);
      const std::set<Element> rest = in(begin + 2 * round, 6 * round);
      ASSERT_TRUE(std::ranges::includes(seen, rest)) << "from " << begin;
    }
    rounds.back() = 0;  // unknown
    const auto* concatenated = source.As<ConcatenateSource>();
    if (concatenated != nullptr || inputs == 1) {
      ASSERT_EQ(made->Round(rounds), 0u);
    }
  }
}

TEST(CombinationTest, AZipBeginsAgainWhenAllItsInputsDo) {
  const auto zip = Make(MakeSource(ZipSource{std::vector<Graph>(3)}),
                        {kInfinite, kInfinite, kInfinite});
  EXPECT_EQ(zip->Round({{4, 6, 10}}), 60u);
  EXPECT_EQ(zip->Round({{4, 0, 10}}), 0u);
  const uint64_t large = (uint64_t{1} << 40) - 1;
  EXPECT_EQ(zip->Round({{large, large + 1, large + 2}}), 0u);
}

TEST(CombinationTest, FarPlacesTakeNoLongerThanNearOnes) {
  const uint64_t huge = uint64_t{1} << 60;
  const auto turns = Make(Interleaved(3, 2, 1'000), {huge, huge, huge});
  const uint64_t n = 2 * huge + 5;
  InputPlace place;
  turns->Find({&n, 1}, {&place, 1});
  EXPECT_EQ(place.input, 2u);
  const auto infinite =
      Make(Interleaved(4, 0, 1), {kInfinite, 8 * huge, kInfinite, kInfinite});
  const uint64_t last = kInfinite - 1;
  infinite->Find({&last, 1}, {&place, 1});
  EXPECT_EQ(place.position, last / 4);
  const auto mixture = Make(Mixed({0.7, 0.3}, Stop::kRepeat), {1'000, 7});
  mixture->Find({&n, 1}, {&place, 1});
  EXPECT_LT(place.position, place.input == 0 ? 1'000u : 7u);
}

}  // namespace
}  // namespace feedmill
