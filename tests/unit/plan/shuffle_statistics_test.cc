// Shuffles are uniform with respect to places, neighbours, parity and, for few
// elements, whole orders. The keys are fixed, so results are reproducible.
// numpy_shuffles_test.py computes the same statistics: NumPy's permutations
// stay within the limit, a four-round network's do not.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "core/plan/permutation.h"
#include "core/plan/plan.h"
#include "feedmill/dataset.h"
#include "tests/unit/dataset/fake_functions.h"

namespace feedmill {
namespace {

// In standard deviations, for about 100 statistics. Uniform shuffles exceed the
// limit for one in 10,000 sets of keys.
constexpr double kLimit = 5;
constexpr size_t kGridMax = 16;  // cells per axis for places and values
// maximum of elements for counting whole orders
constexpr size_t kOrdersMax = 6;
constexpr uint64_t kEpochs = 20'000;
// over all epochs of a large shuffle
constexpr uint64_t kElements = 4'000'000;

// Statistics of shuffles of n elements.
class ShuffleStatistics {
 public:
  explicit ShuffleStatistics(size_t n)
      : n_(n), grid_(std::min(n, kGridMax)), cells_(grid_ * grid_) {}

  void Add(const std::vector<uint64_t>& order) {
    ++epochs_;
    for (size_t j = 0; j < n_; ++j) {
      ++cells_[j * grid_ / n_ * grid_ + order[j] * grid_ / n_];
    }
    for (size_t j = 1; j < n_; ++j) {
      rising_ += order[j] == order[j - 1] + 1;
      falling_ += order[j] + 1 == order[j - 1];
    }
    odd_ += IsOdd(order);
    if (n_ <= kOrdersMax) ++orders_[order];
  }

  // Returns deviations from uniform shuffles, in standard deviations.
  std::map<std::string, double> Deviations() const {
    std::map<std::string, double> deviations;
    const auto epochs = static_cast<double>(epochs_);
    const auto n = static_cast<double>(n_);
    deviations["places"] = Places();
    // Two adjacent places hold some v and v + 1 in 1/n of all orders. Two such
    // pairs of places both do in 1/(n (n - 1)).
    const double mean = (n - 1) / n;
    const double variance = (n - 2) / n + mean - mean * mean;
    for (const auto& [name, count] :
         {std::pair{"rising neighbours", rising_},
          std::pair{"falling neighbours", falling_}}) {
      deviations[name] = (static_cast<double>(count) - epochs * mean) /
                         std::sqrt(epochs * variance);
    }
    deviations["parity"] =
        (static_cast<double>(odd_) - epochs / 2) / (std::sqrt(epochs) / 2);
    if (n_ <= kOrdersMax) deviations["orders"] = Orders();
    return deviations;
  }

 private:
  // Computed from the number of cycles.
  bool IsOdd(const std::vector<uint64_t>& order) {
    seen_.assign(n_, false);
    size_t cycles = 0;
    for (size_t j = 0; j < n_; ++j) {
      if (seen_[j]) continue;
      ++cycles;
      for (size_t at = j; !seen_[at]; at = order[at]) seen_[at] = true;
    }
    return (n_ - cycles) % 2 == 1;
  }

  // Converts a chi-squared sum to standard deviations (Wilson and Hilferty).
  static double Normal(double sum, double freedom) {
    const double variance = 2 / (9 * freedom);
    return (std::cbrt(sum / freedom) - (1 - variance)) / std::sqrt(variance);
  }

  // For a cell of a places and b values, the count in one order is
  // hypergeometric. This weight gives the sum its degrees of freedom.
  double Places() const {
    const auto size = [&](size_t part) {
      return static_cast<double>(((part + 1) * n_ + grid_ - 1) / grid_ -
                                 (part * n_ + grid_ - 1) / grid_);
    };
    const auto n = static_cast<double>(n_);
    const auto epochs = static_cast<double>(epochs_);
    double sum = 0;
    for (size_t place = 0; place < grid_; ++place) {
      for (size_t value = 0; value < grid_; ++value) {
        const double area = size(place) * size(value);
        const double difference =
            static_cast<double>(cells_[place * grid_ + value]) -
            epochs * area / n;
        sum += difference * difference * (n - 1) / (epochs * area);
      }
    }
    const auto freedom = static_cast<double>((grid_ - 1) * (grid_ - 1));
    return Normal(sum, freedom);
  }

  double Orders() const {
    double count = 1;
    for (size_t k = 2; k <= n_; ++k) count *= static_cast<double>(k);
    const double expected = static_cast<double>(epochs_) / count;
    double sum = expected * (count - static_cast<double>(orders_.size()));
    for (const auto& [order, seen] : orders_) {
      const double difference = static_cast<double>(seen) - expected;
      sum += difference * difference / expected;
    }
    return Normal(sum, count - 1);
  }

  const size_t n_;
  const size_t grid_;
  uint64_t epochs_ = 0;
  std::vector<uint64_t> cells_;
  uint64_t rising_ = 0;
  uint64_t falling_ = 0;
  uint64_t odd_ = 0;
  std::map<std::vector<uint64_t>, uint64_t> orders_;
  std::vector<bool> seen_;
};

void ExpectUniform(const ShuffleStatistics& statistics,
                   const std::string& name) {
  for (const auto& [what, deviation] : statistics.Deviations()) {
    EXPECT_LT(std::abs(deviation), kLimit) << what << " of " << name;
  }
}

TEST(ShuffleStatistics, PermutationsOfAllSizesAreUniform) {
  for (const size_t n :
       {2U,    3U,    4U,    5U,    6U,      7U,      8U,      12U,
        16U,   31U,   64U,   100U,  256U,    500U,    1000U,   1024U,
        1025U, 2048U, 3000U, 4096U, 16'384U, 65'536U, 100'000U}) {
    ShuffleStatistics statistics(n);
    std::vector<uint64_t> order(n);
    const uint64_t epochs = n <= 100 ? kEpochs : kElements / n;
    for (uint64_t epoch = 0; epoch < epochs; ++epoch) {
      Permutation(MakeRandomKey(7, 0, epoch, 1, 0), n).AtRange(0, order);
      statistics.Add(order);
    }
    ExpectUniform(statistics, std::to_string(n) + " elements");
  }
}

// Keys within one pass, for runs of a window, also give different orders.
TEST(ShuffleStatistics, RunsAndPassesOfAPlanAreUniform) {
  constexpr size_t kSize = 5;
  for (const auto& [name, dataset] :
       {std::pair{"passes", Dataset::Range(kSize).Shuffle().Repeat(kEpochs)},
        std::pair{"runs",
                  Dataset::Range(kSize * kEpochs).ShuffleWindow(kSize)}}) {
    const auto graph = Analyze(dataset.graph(), testing::FakeFunctions());
    ASSERT_TRUE(graph.ok()) << graph.status();
    const auto plan = Plan::Make(
        *graph, std::string(name) == "runs" ? kSize * kEpochs : kSize, 7, 0);
    ASSERT_TRUE(plan.ok()) << plan.status();
    std::vector<RecordRef> records;
    (*plan)->Records(0, kSize * kEpochs, records);
    ShuffleStatistics statistics(kSize);
    std::vector<uint64_t> order(kSize);
    for (size_t begin = 0; begin < records.size(); begin += kSize) {
      for (size_t j = 0; j < kSize; ++j) {
        order[j] = records[begin + j].index % kSize;
      }
      statistics.Add(order);
    }
    ExpectUniform(statistics, name);
  }
}

}  // namespace
}  // namespace feedmill
