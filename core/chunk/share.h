#ifndef FEEDMILL_CORE_CHUNK_SHARE_H_
#define FEEDMILL_CORE_CHUNK_SHARE_H_

#include <cstdint>

namespace feedmill {

inline constexpr uint64_t kRanksMax = uint64_t{1} << 20;

// The elements of a sequence that a reader takes: all numbers n with n mod
// ranks = rank. The default is all elements. Numbers are below 2^63.
struct Share {
  uint64_t rank = 0;
  uint64_t ranks = 1;

  bool whole() const { return ranks == 1; }
  bool sound() const { return rank < ranks && ranks <= kRanksMax; }
  bool Has(uint64_t n) const { return n % ranks == rank; }
  // Returns the k-th number of the share.
  uint64_t At(uint64_t k) const { return k * ranks + rank; }
  // Returns how many numbers of the share are below n.
  uint64_t Below(uint64_t n) const { return n / ranks + (n % ranks > rank); }
  // Returns the first number of the share that is at least n.
  uint64_t From(uint64_t n) const { return At(Below(n)); }

  friend bool operator==(const Share&, const Share&) = default;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CHUNK_SHARE_H_
