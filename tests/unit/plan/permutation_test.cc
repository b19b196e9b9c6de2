#include "core/plan/permutation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "core/base/philox.h"
#include "core/base/vector_target.h"

namespace feedmill {
namespace {

nlohmann::json GoldenVectors(const std::string& name) {
  std::ifstream file(FEEDMILL_GOLDEN_DIR "/" + name);
  return nlohmann::json::parse(file);
}

TEST(PhiloxTest, GivesThePublishedVectors) {
  const nlohmann::json vectors = GoldenVectors("philox.json");
  ASSERT_GE(vectors.size(), 3u);
  for (const auto& v : vectors) {
    const RandomKey key = {v["key_low"].get<uint64_t>(), 99};
    const auto words =
        Philox(key, v["p"].get<uint64_t>(), v["i"].get<uint64_t>());
    for (size_t w = 0; w < 4; ++w) EXPECT_EQ(words[w], v["words"][w]) << v;
  }
}

TEST(PermutationTest, GivesTheGoldenVectors) {
  const nlohmann::json vectors = GoldenVectors("permutation.json");
  ASSERT_GE(vectors.size(), 10u);
  for (const auto& v : vectors) {
    const RandomKey key =
        MakeRandomKey(v["seed"].get<uint64_t>(), v["iteration"].get<uint64_t>(),
                      v["epoch"].get<uint64_t>(), v["step"].get<uint64_t>(),
                      v["ordinal"].get<uint64_t>());
    EXPECT_EQ(key.low, v["key_low"]);
    EXPECT_EQ(key.high, v["key_high"]);
    const Permutation permutation(key, v["n"].get<uint64_t>());
    for (size_t k = 0; k < v["index"].size(); ++k) {
      EXPECT_EQ(permutation.At(v["index"][k].get<uint64_t>()), v["at"][k]) << v;
    }
  }
}

TEST(PermutationTest, IsABijectionOfEverySizeUpTo2000) {
  std::vector<uint64_t> all;
  std::vector<bool> seen;
  for (uint64_t n = 0; n <= 2000; ++n) {
    const Permutation permutation(MakeRandomKey(n, 0, 1, 2, 0), n);
    all.assign(n, 0);
    permutation.AtRange(0, all);
    seen.assign(n, false);
    for (uint64_t x : all) {
      ASSERT_LT(x, n);
      ASSERT_FALSE(seen[x]) << "n = " << n;
      seen[x] = true;
    }
  }
}

// With the instructions of each target that this processor supports.
TEST(PermutationTest, OneByOneAndInRangesAgree) {
  for (uint64_t n :
       {1U, 2U, 5U, 257U, 1024U, 1025U, 2048U, 65537U, 1U << 20U}) {
    const Permutation permutation(MakeRandomKey(1, 2, 3, 4, 5), n);
    for (uint64_t begin : {uint64_t{0}, n / 3, n - 1}) {
      std::vector<uint64_t> range(std::min<uint64_t>(n - begin, 700));
      for (const VectorTarget target :
           {VectorTarget::kBaseline, VectorTarget::kAvx2,
            VectorTarget::kAvx512}) {
        if (target > BestVectorTarget()) continue;
        SetLoopTarget(target);
        range.assign(range.size(), 0);
        permutation.AtRange(begin, range);
        for (size_t j = 0; j < range.size(); ++j) {
          ASSERT_EQ(range[j], permutation.At(begin + j)) << n << " " << begin;
        }
      }
    }
  }
}

// More permutations than a thread keeps.
TEST(PermutationTest, ManyAtATimeDoNotMix) {
  constexpr uint64_t kCount = 3 * Permutation::kKeptOrders;
  std::vector<std::vector<uint64_t>> orders;
  for (uint64_t k = 0; k < kCount; ++k) {
    orders.emplace_back(10 + k / 2);
    Permutation({k / 4, k % 2}, orders[k].size()).AtRange(0, orders[k]);
  }
  for (uint64_t j = 0; j < 10; ++j) {
    for (uint64_t k = 0; k < kCount; ++k) {
      const Permutation permutation({k / 4, k % 2}, orders[k].size());
      ASSERT_EQ(permutation.At(j), orders[k][j]) << k;
    }
  }
}

TEST(PermutationTest, LargeSizesStayInRangeWithoutCollisions) {
  for (uint64_t n : {(uint64_t{1} << 32) + 1, uint64_t{1000000007} * 1000,
                     uint64_t{1} << 63}) {
    const Permutation permutation(MakeRandomKey(n, 0, 0, 0, 0), n);
    std::set<uint64_t> seen;
    for (uint64_t j = 0; j < 10000; ++j) {
      const uint64_t x = permutation.At(n / 10000 * j);
      EXPECT_LT(x, n);
      EXPECT_TRUE(seen.insert(x).second);
    }
  }
}

}  // namespace
}  // namespace feedmill
