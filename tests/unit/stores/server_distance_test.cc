#include "stores/http/server_distance.h"

#include <gtest/gtest.h>

namespace feedmill {
namespace {

TEST(ServerDistance, IsFarBeforeTheFirstAnswer) {
  EXPECT_FALSE(ServerDistance().near());
}

TEST(ServerDistance, OneQuickAnswerShowsThatTheServerIsNear) {
  ServerDistance distance;
  for (int k = 0; k < 10; ++k) distance.Add(absl::Milliseconds(40));
  EXPECT_FALSE(distance.near());
  distance.Add(absl::Milliseconds(1));
  EXPECT_TRUE(distance.near());
}

TEST(ServerDistance, ForgetsQuickAnswersOfLongAgo) {
  ServerDistance distance;
  distance.Add(absl::Milliseconds(1));
  for (int k = 0; k < 31; ++k) distance.Add(absl::Milliseconds(40));
  EXPECT_TRUE(distance.near());
  for (int k = 0; k < 33; ++k) distance.Add(absl::Milliseconds(40));
  EXPECT_FALSE(distance.near());
}

}  // namespace
}  // namespace feedmill
