#include "stores/http/server_distance.h"

#include <gtest/gtest.h>

#include <string>

namespace feedmill {
namespace {

TEST(ServerDistance, IsUnknownBeforeTheFirstAnswer) {
  EXPECT_EQ(ServerDistance().least(), absl::InfiniteDuration());
}

TEST(ServerDistance, BelongsToTheQuickestAnswer) {
  ServerDistance distance;
  for (int k = 0; k < 10; ++k) distance.Add(absl::Milliseconds(40 + k));
  EXPECT_EQ(distance.least(), absl::Milliseconds(40));
  distance.Add(absl::Milliseconds(1));
  EXPECT_EQ(distance.least(), absl::Milliseconds(1));
}

TEST(ServerDistance, ForgetsQuickAnswersOfLongAgo) {
  ServerDistance distance;
  distance.Add(absl::Milliseconds(1));
  for (int k = 0; k < 31; ++k) distance.Add(absl::Milliseconds(40));
  EXPECT_EQ(distance.least(), absl::Milliseconds(1));
  for (int k = 0; k < 33; ++k) distance.Add(absl::Milliseconds(40));
  EXPECT_EQ(distance.least(), absl::Milliseconds(40));
}

TEST(ServerDistances, EachServerHasItsOwn) {
  ServerDistances distances;
  distances.Add("http://near:80/a/b", absl::Milliseconds(1));
  distances.Add("s3://far/a", absl::Milliseconds(50));
  EXPECT_TRUE(distances.IsNear("http://near:80/c"));
  EXPECT_TRUE(distances.IsNear("http://near:80"));
  EXPECT_FALSE(distances.IsNear("http://near:8080/a/b"));
  EXPECT_FALSE(distances.IsNear("s3://far/b"));
  EXPECT_FALSE(distances.IsNear("s3://unknown/b"));
  EXPECT_EQ(distances.Of("s3://far/b"), absl::Milliseconds(50));
  EXPECT_EQ(distances.Of("s3://unknown/b"), absl::InfiniteDuration());
}

TEST(ServerDistances, KeepABoundedNumberOfServers) {
  ServerDistances distances;
  for (int k = 0; k < 2'000; ++k) {
    distances.Add("s3://" + std::to_string(k) + "/a", absl::Milliseconds(1));
  }
  EXPECT_TRUE(distances.IsNear("s3://1000/a"));
  EXPECT_FALSE(distances.IsNear("s3://1999/a"));
}

}  // namespace
}  // namespace feedmill
