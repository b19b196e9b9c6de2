#include "core/operators/mixture_shares.h"

#include <array>
#include <charconv>
#include <climits>
#include <cmath>
#include <numeric>
#include <span>

#include "core/base/status.h"
#include "core/dataset/graph.h"

namespace feedmill {
namespace {

// Most elements in the schedule table of a mixture.
constexpr uint64_t kSharesMax = uint64_t{1} << 20;

// A decimal number: digits * 10^exponent.
struct Decimal {
  uint64_t digits = 0;
  int exponent = 0;
};

// Returns the shortest decimal that reads back as `value`, usually the decimal
// that was written.
Decimal DecimalOf(double value) {
  std::array<char, 64> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value,
                                 std::chars_format::scientific);
  Decimal out;
  const char* at = text.data();
  bool fraction = false;
  for (; at != end.ptr && *at != 'e'; ++at) {
    if (*at == '.') {
      fraction = true;
      continue;
    }
    out.digits = out.digits * 10 + static_cast<uint64_t>(*at - '0');
    out.exponent -= fraction ? 1 : 0;
  }
  int power = 0;
  ++at;  // the 'e'
  if (at < end.ptr && *at == '+') ++at;
  std::from_chars(at, end.ptr, power);
  out.exponent += power;
  return out;
}

absl::Status TooFine() {
  return InvalidArgument(
      "the weights have too many digits: as whole numbers without a common "
      "divisor they sum up to more than {}. Round them, for example to five "
      "decimals of their sum",
      kSharesMax);
}

absl::Status CheckWeight(const MixtureSource& source, size_t k) {
  const double weight = source.weights[k];
  const bool last = k + source.inputs.size() >= source.weights.size();
  const bool may_be_0 = !source.changes.empty() &&
                        (!last || source.stop == MixtureSource::Stop::kRepeat);
  if (std::isfinite(weight) && (weight > 0 || (weight == 0 && may_be_0))) {
    return absl::OkStatus();
  }
  if (weight == 0 && !source.changes.empty()) {
    return InvalidArgument(
        "weights[{}] is 0; the last weights are above 0, or the mixture might "
        "never end (`stop: repeat` takes a 0)",
        k);
  }
  return InvalidArgument(
      "weights[{}] is {}; a weight is a number above 0 (leave out an input "
      "of which nothing is to be read)",
      k, weight);
}

// Returns these weights as integers without a common divisor.
absl::StatusOr<std::vector<uint64_t>> SharesOf(
    std::span<const double> weights) {
  std::vector<Decimal> decimals;
  int lowest = INT_MAX;
  for (const double weight : weights) {
    decimals.push_back(weight > 0 ? DecimalOf(weight) : Decimal{0, INT_MAX});
    lowest = std::min(lowest, decimals.back().exponent);
  }
  std::vector<uint64_t> shares;
  uint64_t divisor = 0;
  for (const Decimal& decimal : decimals) {
    uint64_t share = decimal.digits;
    for (int k = lowest; share > 0 && k < decimal.exponent; ++k) {
      if (__builtin_mul_overflow(share, uint64_t{10}, &share)) return TooFine();
    }
    shares.push_back(share);
    divisor = std::gcd(divisor, share);
  }
  if (divisor == 0) {
    return InvalidArgument("all weights from one change to the next are 0");
  }
  uint64_t sum = 0;
  for (uint64_t& share : shares) {
    share /= divisor;
    if (share > kSharesMax - sum) return TooFine();
    sum += share;
  }
  return shares;
}

}  // namespace

absl::StatusOr<std::vector<MixtureShares>> SharesOfMixture(
    const MixtureSource& source) {
  const size_t inputs = source.inputs.size();
  const size_t phases = 1 + source.changes.size();
  if (source.weights.size() != inputs * phases) {
    return InvalidArgument(
        "{} weights for {} inputs{}; each input needs one{}",
        source.weights.size(), inputs,
        phases > 1 ? fmt::format(" and {} changes", phases - 1) : "",
        phases > 1 ? ", and one more for each change" : "");
  }
  for (size_t k = 0; k < source.weights.size(); ++k) {
    FM_RETURN_IF_ERROR(CheckWeight(source, k));
  }
  std::vector<MixtureShares> out;
  uint64_t sum = 0;
  for (size_t k = 0; k < phases; ++k) {
    const int64_t begin = k == 0 ? 0 : source.changes[k - 1];
    if (k > 0 && begin <= static_cast<int64_t>(out.back().begin)) {
      return InvalidArgument(
          "changes must be above 0 and increase; {} breaks "
          "this",
          begin);
    }
    FM_ASSIGN_OR_RETURN(
        std::vector<uint64_t> shares,
        SharesOf(std::span(source.weights).subspan(k * inputs, inputs)));
    sum += std::accumulate(shares.begin(), shares.end(), uint64_t{0});
    if (sum > kSharesMax) return TooFine();
    out.push_back({static_cast<uint64_t>(begin), std::move(shares)});
  }
  return out;
}

}  // namespace feedmill
