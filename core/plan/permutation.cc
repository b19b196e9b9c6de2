#include "core/plan/permutation.h"

#include <algorithm>
#include <bit>

#include "core/base/check.h"
#include "core/base/vector_target.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace feedmill {
namespace {

// The finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA'14; Stafford's
// Mix13).
inline uint64_t Mix(uint64_t z) {
  z ^= z >> 30;
  z *= 0xbf58476d1ce4e5b9u;
  z ^= z >> 27;
  z *= 0x94d049bb133111ebu;
  z ^= z >> 31;
  return z;
}

// Little-endian on every machine.
void StoreLittleEndian(uint64_t value, unsigned char* out) {
  for (int i = 0; i < 8; ++i) {
    out[i] = static_cast<unsigned char>(value >> (8 * i));
  }
}

// Returns random number i of a key: SplitMix64 whose state and increment are
// the key.
inline uint64_t DrawOf(const RandomKey& key, uint64_t i) {
  return Mix(key.low + i * (key.high | 1));
}

}  // namespace

RandomKey MakeRandomKey(uint64_t seed, uint64_t iteration, uint64_t epoch,
                        uint64_t step, uint64_t ordinal) {
  unsigned char bytes[40];
  StoreLittleEndian(seed, bytes);
  StoreLittleEndian(iteration, bytes + 8);
  StoreLittleEndian(epoch, bytes + 16);
  StoreLittleEndian(step, bytes + 24);
  StoreLittleEndian(ordinal, bytes + 32);
  const XXH128_hash_t hash = XXH3_128bits(bytes, sizeof bytes);
  return {hash.low64, hash.high64};
}

// ---- up to kExactMax elements

// The last kKeptOrders orders that a thread computed.
struct Permutation::KeptOrders {
  using Order = std::array<uint16_t, kExactMax>;
  struct Entry {
    RandomKey key;
    uint64_t n = 0;  // 0: no order yet
    Order order{};

    bool Is(const RandomKey& other, uint64_t size) const {
      return key.low == other.low && key.high == other.high && n == size;
    }
  };
  std::array<Entry, kKeptOrders> entries{};
  size_t last = 0;  // index of the entry used last
  size_t next = 0;  // index of the entry to replace next

  static const Order& Of(const RandomKey& key, uint64_t n);
  static void Make(const RandomKey& key, uint64_t n, Order& order);
};

const Permutation::KeptOrders::Order& Permutation::KeptOrders::Of(
    const RandomKey& key, uint64_t n) {
  static constinit thread_local KeptOrders kept;
  if (kept.entries[kept.last].Is(key, n)) return kept.entries[kept.last].order;
  for (size_t k = 0; k < kept.entries.size(); ++k) {
    if (!kept.entries[k].Is(key, n)) continue;
    kept.last = k;
    return kept.entries[k].order;
  }
  kept.last = kept.next;
  kept.next = (kept.next + 1) % kept.entries.size();
  Entry& entry = kept.entries[kept.last];
  entry.key = key;
  entry.n = n;
  Make(key, n, entry.order);
  return entry.order;
}

// Inside-out Fisher-Yates: element i goes to a random place j <= i, and the
// element at j goes to place i.
void Permutation::KeptOrders::Make(const RandomKey& key, uint64_t n,
                                   Order& order) {
  for (uint64_t i = 0; i < n; ++i) {
    const uint64_t j = (DrawOf(key, i) >> 32) * (i + 1) >> 32;
    order[i] = order[j];
    order[j] = static_cast<uint16_t>(i);
  }
}

// ---- more than kExactMax elements

Permutation::Permutation(RandomKey key, uint64_t n) : key_(key), n_(n) {
  if (n <= kExactMax) return;
  const int bits = static_cast<int>(std::bit_width(n - 1));
  network_.right_bits = (bits + 1) / 2;
  network_.left_bits = bits - network_.right_bits;
#pragma GCC unroll 8
  for (size_t round = 0; round < kRounds; ++round) {
    network_.round_keys[round] = DrawOf(key, round);
  }
}

// Applies the network once to each x. Each multiplication depends on the one
// before it, so several places are computed side by side.
template <size_t kWidth>
[[gnu::always_inline]] inline void Permutation::Network::Turn(
    uint64_t* x) const {
  uint32_t half[2][kWidth];  // right and left
  for (size_t k = 0; k < kWidth; ++k) {
    half[0][k] =
        static_cast<uint32_t>(x[k] & ((uint64_t{1} << right_bits) - 1));
    half[1][k] = static_cast<uint32_t>(x[k] >> right_bits);
  }
  const int unused[2] = {32 - right_bits, 32 - left_bits};
#pragma GCC unroll 8
  for (size_t round = 0; round < kRounds; ++round) {
    const size_t from = round % 2;
    const size_t to = 1 - from;
    const auto first = static_cast<uint32_t>(round_keys[round]);
    const auto second = static_cast<uint32_t>(round_keys[round] >> 32);
    for (size_t k = 0; k < kWidth; ++k) {
      uint32_t z = (half[from][k] ^ first) * 0x7feb352du;
      z = (z ^ z >> 15 ^ second) * 0x846ca68bu;
      half[to][k] ^= z >> unused[to];
    }
  }
  for (size_t k = 0; k < kWidth; ++k) {
    x[k] = uint64_t{half[1][k]} << right_bits | half[0][k];
  }
}

// Half of the keys swap the first two elements, because the network alone is
// always an even permutation of its range.
inline uint64_t Permutation::StartOf(uint64_t index) const {
  return index < 2 ? index ^ (key_.high & 1) : index;
}

uint64_t Permutation::At(uint64_t index) const {
  FM_CHECK(index < n_);
  if (n_ <= kExactMax) return KeptOrders::Of(key_, n_)[index];
  // Takes fewer than two rounds on average. The loop ends because the network
  // permutes [0, 2^bits): the walk would return to its starting index.
  uint64_t x = StartOf(index);
  do {
    network_.Turn<1>(&x);
  } while (x >= n_);
  return x;
}

// Applies the network once to every x; `n` is rounded up to kRow or kGroup.
// Compiled for each target below.
struct Permutation::Turns {
  static constexpr size_t kRow = 16;
  static constexpr size_t kGroup = 4 * kRow;

  [[gnu::always_inline]] static inline void Run(const Network& by, uint64_t* x,
                                                size_t n) {
    // A copy stays in registers, because no store can alias it.
    const Network network = by;
    if (n <= kRow) return network.Turn<kRow>(x);
    for (size_t k = 0; k < n; k += kGroup) network.Turn<kGroup>(x + k);
  }
#if defined(__x86_64__)
  [[gnu::target("arch=x86-64-v3")]] static void RunAvx2(const Network& by,
                                                        uint64_t* x, size_t n) {
    Run(by, x, n);
  }
  [[gnu::target("arch=x86-64-v4")]] static void RunAvx512(const Network& by,
                                                          uint64_t* x,
                                                          size_t n) {
    Run(by, x, n);
  }
#endif
  static void RunBaseline(const Network& by, uint64_t* x, size_t n) {
    Run(by, x, n);
  }

  using Function = void (*)(const Network&, uint64_t*, size_t);
  static Function ForTarget() {
#if defined(__x86_64__)
    switch (LoopTarget()) {
      case VectorTarget::kAvx512:
        return RunAvx512;
      case VectorTarget::kAvx2:
        return RunAvx2;
      case VectorTarget::kBaseline:
        break;
    }
#endif
    return RunBaseline;
  }
};

void Permutation::AtRange(uint64_t begin, std::span<uint64_t> out) const {
  FM_CHECK(begin <= n_ && out.size() <= n_ - begin);
  if (out.empty()) return;
  if (n_ <= kExactMax) {
    const KeptOrders::Order& order = KeptOrders::Of(key_, n_);
    for (size_t j = 0; j < out.size(); ++j) out[j] = order[begin + j];
    return;
  }
  if (out.size() == 1) {  // a shuffle below another shuffle
    out[0] = At(begin);
    return;
  }
  // Numbers that land outside [0, n) are packed and turned again, so that no
  // branch depends on them and the processor overlaps many.
  constexpr size_t kBlock = 8 * Turns::kGroup;
  const Turns::Function turn = Turns::ForTarget();
  const uint64_t n = n_;
  std::array<uint64_t, kBlock> walking;
  std::array<uint16_t, kBlock> place;
  for (size_t at = 0; at < out.size(); at += kBlock) {
    const size_t size = std::min(kBlock, out.size() - at);
    uint64_t* const block = out.data() + at;
    // Whole groups are turned; if `out` ends within a group, in a separate
    // array.
    const size_t turned = (size + Turns::kGroup - 1) & ~(Turns::kGroup - 1);
    uint64_t* const first = turned == size ? block : walking.data();
    const uint64_t base = begin + at;
    for (size_t j = 0; j < turned; ++j) first[j] = base + j;
    if (base < 2) {
      for (size_t j = 0; j < 2; ++j) first[j] = StartOf(first[j]);
    }
    turn(network_, first, size);
    if (first != block) std::copy_n(first, size, block);
    size_t left = 0;
    for (size_t j = 0; j < size; ++j) {
      place[left] = static_cast<uint16_t>(j);
      left += block[j] >= n;
    }
    while (left > 0) {
      for (size_t k = 0; k < left; ++k) walking[k] = block[place[k]];
      turn(network_, walking.data(), left);
      size_t still = 0;
      for (size_t k = 0; k < left; ++k) {
        const uint16_t j = place[k];
        block[j] = walking[k];
        place[still] = j;
        still += walking[k] >= n;
      }
      left = still;
    }
  }
}

}  // namespace feedmill
