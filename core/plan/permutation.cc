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
// Mix13): what makes a round of the network random.
inline uint64_t Mix(uint64_t z) {
  z ^= z >> 30;
  z *= 0xbf58476d1ce4e5b9u;
  z ^= z >> 27;
  z *= 0x94d049bb133111ebu;
  z ^= z >> 31;
  return z;
}

// Little-endian, whatever the machine is.
void StoreLittleEndian(uint64_t value, unsigned char* out) {
  for (int i = 0; i < 8; ++i) {
    out[i] = static_cast<unsigned char>(value >> (8 * i));
  }
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

Permutation::Permutation(RandomKey key, uint64_t n) : n_(n) {
  // The smallest even number of bits, at least 2, whose range holds n.
  const int bits = n <= 2 ? 2 : static_cast<int>(std::bit_width(n - 1));
  half_bits_ = (bits + 1) / 2;
  mask_ = (uint64_t{1} << half_bits_) - 1;
  round_keys_ = {key.low, key.high, Mix(key.low), Mix(key.high)};
}

// By value: what is written elsewhere cannot change it, so it stays in
// registers.
struct Permutation::Network {
  int half_bits;
  uint64_t mask;
  std::array<uint64_t, 4> round_keys;

  // Turns each x once. One multiplication waits for the one before it, so
  // several places go side by side.
  template <size_t kWidth>
  [[gnu::always_inline]] inline void Turn(uint64_t* x) const {
    uint64_t left[kWidth];
    uint64_t right[kWidth];
    for (size_t k = 0; k < kWidth; ++k) {
      left[k] = x[k] >> half_bits;
      right[k] = x[k] & mask;
    }
#pragma GCC unroll 4
    for (size_t round = 0; round < 4; ++round) {
      const uint64_t round_key = round_keys[round];
      for (size_t k = 0; k < kWidth; ++k) {
        const uint64_t next = left[k] ^ (Mix(right[k] ^ round_key) & mask);
        left[k] = right[k];
        right[k] = next;
      }
    }
    for (size_t k = 0; k < kWidth; ++k) {
      x[k] = left[k] << half_bits | right[k];
    }
  }
};

uint64_t Permutation::At(uint64_t index) const {
  FM_CHECK(index < n_);
  if (n_ == 1) return 0;
  // Fewer than four turns on average. It ends: the network permutes
  // [0, 2^bits), so the walk would come back to the index that it began with.
  const Network network = {half_bits_, mask_, round_keys_};
  uint64_t x = index;
  do {
    network.Turn<1>(&x);
  } while (x >= n_);
  return x;
}

// Every x is turned once, of `n` rounded up to kRow or kGroup. Compiled for
// each target below: the multiplications of eight places are two instructions
// with AVX-512.
struct Permutation::Turns {
  static constexpr size_t kRow = 8;
  static constexpr size_t kGroup = 4 * kRow;

  [[gnu::always_inline]] static inline void Run(const Network& by, uint64_t* x,
                                                size_t n) {
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
  if (n_ <= 1) {
    for (uint64_t& x : out) x = 0;
    return;
  }
  if (out.size() == 1) {  // of a shuffle below another one
    out[0] = At(begin);
    return;
  }
  // Those that land outside go on, packed, so that no branch depends on them
  // and the processor overlaps many.
  constexpr size_t kBlock = 16 * Turns::kGroup;
  const Network network = {half_bits_, mask_, round_keys_};
  const Turns::Function turn = Turns::ForTarget();
  const uint64_t n = n_;
  std::array<uint64_t, kBlock> walking;
  std::array<uint16_t, kBlock> place;
  for (size_t at = 0; at < out.size(); at += kBlock) {
    const size_t size = std::min(kBlock, out.size() - at);
    uint64_t* const block = out.data() + at;
    const size_t turned = (size + Turns::kGroup - 1) & ~(Turns::kGroup - 1);
    for (size_t j = 0; j < turned; ++j) walking[j] = begin + at + j;
    turn(network, walking.data(), size);
    size_t left = 0;
    for (size_t j = 0; j < size; ++j) {
      block[j] = walking[j];
      place[left] = static_cast<uint16_t>(j);
      left += walking[j] >= n;
    }
    while (left > 0) {
      for (size_t k = 0; k < left; ++k) walking[k] = block[place[k]];
      turn(network, walking.data(), left);
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
