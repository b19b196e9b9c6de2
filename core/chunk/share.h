#ifndef FEEDMILL_CORE_CHUNK_SHARE_H_
#define FEEDMILL_CORE_CHUNK_SHARE_H_

#include <cstdint>

namespace feedmill {

inline constexpr uint64_t kRanksMax = uint64_t{1} << 20;

// Which elements of a sequence a reader takes: those whose number n has
// n mod ranks = rank. The default is all. Numbers stay below 2^63.
struct Share {
  uint64_t rank = 0;
  uint64_t ranks = 1;

  bool whole() const { return ranks == 1; }
  bool sound() const { return rank < ranks && ranks <= kRanksMax; }
  bool Has(uint64_t n) const { return n % ranks == rank; }
  // Its k-th number.
  uint64_t At(uint64_t k) const { return k * ranks + rank; }
  // How many of its numbers are below n.
  uint64_t Below(uint64_t n) const { return n / ranks + (n % ranks > rank); }
  // Its first number at or after n.
  uint64_t From(uint64_t n) const { return At(Below(n)); }

  friend bool operator==(const Share&, const Share&) = default;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CHUNK_SHARE_H_
