#include "core/chunk/row_states.h"

#include <gtest/gtest.h>

namespace feedmill {
namespace {

TEST(RowStates, ReturnsTheLastOneOfTheBlockBeforeARow) {
  RowStates states(10);
  states.Keep(1, {5, "one"});
  states.Keep(1, {9, "two"});
  states.Keep(3, {0, "three"});
  EXPECT_FALSE(states.Before(1, 4).has_value());
  EXPECT_EQ(states.Before(1, 5)->bytes, "one");
  EXPECT_EQ(states.Before(1, 8)->row, 5u);
  EXPECT_EQ(states.Before(1, 1'000)->bytes, "two");
  EXPECT_FALSE(states.Before(2, 1'000).has_value());
  EXPECT_EQ(states.Before(3, 0)->bytes, "three");
}

TEST(RowStates, DropsTheFirstThatCame) {
  RowStates states(2);
  states.Keep(0, {20, "first"});
  states.Keep(0, {10, "second"});
  states.Keep(0, {10, "again"});
  EXPECT_EQ(states.Before(0, 20)->bytes, "first");
  states.Keep(0, {30, "third"});
  EXPECT_EQ(states.Before(0, 25)->bytes, "second");
  EXPECT_EQ(states.Before(0, 30)->bytes, "third");
}

TEST(RowStates, BytesAreBounded) {
  RowStates states(10, 100);
  states.Keep(0, {1, std::string(60, 'a')});
  states.Keep(0, {2, std::string(40, 'b')});
  EXPECT_EQ(states.Before(0, 1)->row, 1U);
  states.Keep(0, {3, std::string(1, 'c')});
  EXPECT_FALSE(states.Before(0, 1).has_value());
  EXPECT_EQ(states.Before(0, 2)->row, 2U);
  states.Keep(0, {4, std::string(200, 'd')});  // one may be larger
  EXPECT_FALSE(states.Before(0, 3).has_value());
  EXPECT_EQ(states.Before(0, 4)->row, 4U);
}

}  // namespace
}  // namespace feedmill
