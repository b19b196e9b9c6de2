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

}  // namespace
}  // namespace feedmill
