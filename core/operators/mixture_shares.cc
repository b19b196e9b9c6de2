#include "core/operators/mixture_shares.h"

#include <array>
#include <charconv>
#include <cmath>
#include <numeric>

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

}  // namespace

absl::StatusOr<std::vector<uint64_t>> MixtureShares(
    const MixtureSource& source) {
  if (source.weights.size() != source.inputs.size()) {
    return InvalidArgument("{} weights for {} inputs; each input needs one",
                           source.weights.size(), source.inputs.size());
  }
  std::vector<Decimal> decimals;
  int lowest = 0;
  for (size_t i = 0; i < source.weights.size(); ++i) {
    const double weight = source.weights[i];
    if (!std::isfinite(weight) || weight <= 0) {
      return InvalidArgument(
          "weights[{}] is {}; a weight is a number above 0 (leave out an input "
          "of which nothing is to be read)",
          i, weight);
    }
    decimals.push_back(DecimalOf(weight));
    lowest = i == 0 ? decimals[0].exponent
                    : std::min(lowest, decimals.back().exponent);
  }
  std::vector<uint64_t> shares;
  uint64_t divisor = 0;
  for (const Decimal& decimal : decimals) {
    uint64_t share = decimal.digits;
    for (int k = lowest; k < decimal.exponent; ++k) {
      if (__builtin_mul_overflow(share, uint64_t{10}, &share)) return TooFine();
    }
    shares.push_back(share);
    divisor = std::gcd(divisor, share);
  }
  uint64_t sum = 0;
  for (uint64_t& share : shares) {
    share /= divisor;
    if (share > kSharesMax - sum) return TooFine();
    sum += share;
  }
  return shares;
}

}  // namespace feedmill
