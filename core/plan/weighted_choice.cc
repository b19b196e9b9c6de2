#include "core/plan/weighted_choice.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "core/base/status.h"

namespace feedmill {
namespace {

// The length of all intervals together, about.
constexpr double kLength = 0x1p62;
constexpr int64_t kClassesMax = int64_t{1} << 24;

// Returns the number of elements of each class.
std::vector<uint64_t> SizesOf(const WeightedSampleStep& step) {
  size_t classes = step.weights.size();
  for (const int64_t one : step.classes) {
    classes = std::max(classes, static_cast<size_t>(one) + 1);
  }
  std::vector<uint64_t> sizes(classes);
  for (const int64_t one : step.classes) ++sizes[static_cast<size_t>(one)];
  return sizes;
}

// Returns the lengths of intervals of these weights.
absl::StatusOr<std::vector<uint64_t>> LengthsOf(
    const std::vector<double>& weights) {
  double total = 0;
  for (const double weight : weights) total += weight;
  if (total == 0) return InvalidArgument("all weights are 0");
  if (!std::isfinite(total)) {
    return InvalidArgument("the sum of the weights is too large");
  }
  std::vector<uint64_t> lengths;
  for (const double weight : weights) {
    lengths.push_back(static_cast<uint64_t>(weight / total * kLength));
  }
  return lengths;
}

}  // namespace

absl::Status WeightedChoice::Check(const WeightedSampleStep& step) {
  if (step.weights.empty() && step.classes.empty()) {
    return InvalidArgument(
        "it needs `weights`, a number for each element, or `classes`, the "
        "class of each");
  }
  if (step.count && *step.count < 0) {
    return InvalidArgument("count must not be negative, it is {}", *step.count);
  }
  for (const double weight : step.weights) {
    if (weight >= 0 && std::isfinite(weight)) continue;
    return InvalidArgument("a weight must be a number of at least 0, it is {}",
                           weight);
  }
  const auto classes = step.weights.empty()
                           ? kClassesMax
                           : static_cast<int64_t>(step.weights.size());
  for (const int64_t one : step.classes) {
    if (one >= 0 && one < classes) continue;
    return InvalidArgument("there is no class {}; classes are 0 to {}{}", one,
                           classes - 1,
                           step.weights.empty() ? "" : ", one for each weight");
  }
  return absl::OkStatus();
}

absl::StatusOr<WeightedChoice> WeightedChoice::Make(
    const WeightedSampleStep& step, uint64_t inputs) {
  FM_RETURN_IF_ERROR(Check(step));
  const bool by_class = !step.classes.empty();
  const size_t given = by_class ? step.classes.size() : step.weights.size();
  if (given != inputs) {
    return InvalidArgument(
        "there are {} {}, and {} elements; give one for each", given,
        by_class ? "classes" : "weights", inputs);
  }
  WeightedChoice made;
  made.count_ = step.count ? static_cast<uint64_t>(*step.count) : inputs;
  std::vector<uint64_t> lengths;
  if (by_class) {
    const std::vector<uint64_t> sizes = SizesOf(step);
    std::vector<double> weights = step.weights;
    weights.resize(sizes.size(), step.weights.empty() ? 1 : 0);
    for (size_t c = 0; c < sizes.size(); ++c) {
      if (sizes[c] == 0) weights[c] = 0;
    }
    FM_ASSIGN_OR_RETURN(const auto of_classes, LengthsOf(weights));
    made.order_.resize(inputs);
    std::iota(made.order_.begin(), made.order_.end(), uint64_t{0});
    std::ranges::stable_sort(made.order_, {}, [&](uint64_t element) {
      return step.classes[static_cast<size_t>(element)];
    });
    for (const uint64_t element : made.order_) {
      const auto c =
          static_cast<size_t>(step.classes[static_cast<size_t>(element)]);
      lengths.push_back(of_classes[c] / sizes[c]);
    }
  } else {
    FM_ASSIGN_OR_RETURN(lengths, LengthsOf(step.weights));
  }
  const auto some = static_cast<uint64_t>(
      lengths.size() - static_cast<size_t>(std::ranges::count(lengths, 0U)));
  if (made.count_ == 0) return made;
  if (step.distinct && some < made.count_) {
    return InvalidArgument(
        "count is {}, and {} elements have a weight above 0; with `distinct`, "
        "each is chosen once at most",
        made.count_, some);
  }
  if (step.distinct) made.Limit(lengths);
  uint64_t end = 0;
  for (const uint64_t length : lengths) made.ends_.push_back(end += length);
  made.distance_ = end / made.count_;
  if (made.distance_ > 0) return made;
  return InvalidArgument("count is {}, which is too large", made.count_);
}

void WeightedChoice::Limit(std::vector<uint64_t>& lengths) const {
  std::vector<uint64_t> sorted = lengths;
  std::ranges::sort(sorted, std::greater<>());
  uint64_t rest = std::accumulate(sorted.begin(), sorted.end(), uint64_t{0});
  // The longest intervals, which have a point each, leave the rest to others.
  uint64_t points = count_;
  size_t longest = 0;
  while (points > 1 && sorted[longest] > rest / points) {
    rest -= sorted[longest++];
    --points;
  }
  const uint64_t most = rest / points;
  for (uint64_t& length : lengths) length = std::min(length, most);
}

uint64_t WeightedChoice::BeginOf(RandomKey key) const {
  const auto words = Philox(key, 0, 0);
  const uint64_t draw = uint64_t{words[1]} << 32 | words[0];
  return static_cast<uint64_t>(
      static_cast<unsigned __int128>(draw) * distance_ >> 64);
}

uint64_t WeightedChoice::At(uint64_t point, uint64_t begin) const {
  const auto found = std::ranges::upper_bound(ends_, point * distance_ + begin);
  const auto interval = static_cast<uint64_t>(found - ends_.begin());
  return order_.empty() ? interval : order_[static_cast<size_t>(interval)];
}

}  // namespace feedmill
