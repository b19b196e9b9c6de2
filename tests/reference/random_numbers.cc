#include "tests/reference/random_numbers.h"

#include <xxhash.h>

#include <cstring>
#include <utility>

namespace feedmill::reference {
namespace {

uint64_t Mix(uint64_t z) {
  z ^= z >> 30;
  z *= 0xbf58476d1ce4e5b9ULL;
  z ^= z >> 27;
  z *= 0x94d049bb133111ebULL;
  z ^= z >> 31;
  return z;
}

// Returns draw i of a shuffle's key.
uint64_t DrawOf(Key key, uint64_t i) {
  return Mix(key.low + i * (key.high | 1));
}

// Returns the round function of a shuffle for one half.
uint32_t Scrambled(uint32_t half, uint64_t key) {
  const uint32_t y = (half ^ uint32_t(key)) * 0x7feb352d;
  return (y ^ (y >> 15) ^ uint32_t(key >> 32)) * 0x846ca68b;
}

}  // namespace

Key KeyOf(uint64_t seed, uint64_t iteration, uint64_t epoch, uint64_t step,
          uint64_t ordinal) {
  const uint64_t words[5] = {seed, iteration, epoch, step, ordinal};
  const XXH128_hash_t hash = XXH3_128bits(words, sizeof words);
  return {hash.low64, hash.high64};
}

std::array<uint32_t, 4> Words(Key key, uint64_t p, uint64_t i) {
  uint32_t c[4] = {uint32_t(p), uint32_t(p >> 32), uint32_t(i),
                   uint32_t(i >> 32)};
  uint32_t k[2] = {uint32_t(key.low), uint32_t(key.low >> 32)};
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * c[0];
    const uint64_t b = uint64_t{0xCD9E8D57} * c[2];
    const uint32_t next[4] = {uint32_t(b >> 32) ^ c[1] ^ k[0], uint32_t(b),
                              uint32_t(a >> 32) ^ c[3] ^ k[1], uint32_t(a)};
    std::memcpy(c, next, sizeof c);
    k[0] += 0x9E3779B9;
    k[1] += 0xBB67AE85;
  }
  return {c[0], c[1], c[2], c[3]};
}

uint32_t FirstWord(Key key, uint64_t p, uint64_t i) {
  return Words(key, p, i)[0];
}

std::vector<uint64_t> ShuffledIndexes(Key key, uint64_t n) {
  std::vector<uint64_t> out(n);
  if (n <= 1024) {
    for (uint64_t i = 0; i < n; ++i) {
      out[i] = i;
      std::swap(out[i], out[(DrawOf(key, i) >> 32) * (i + 1) >> 32]);
    }
    return out;
  }
  int bits = 1;
  while (bits < 64 && (uint64_t{1} << bits) < n) ++bits;
  const int left_bits = bits / 2, right_bits = bits - left_bits;
  for (uint64_t j = 0; j < n; ++j) {
    uint64_t x = j;
    if (j < 2 && key.high % 2 == 1) x = 1 - j;
    do {
      auto left = uint32_t(x >> right_bits);
      auto right = uint32_t(x % (uint64_t{1} << right_bits));
      for (uint64_t round = 0; round < 8; round += 2) {
        left ^= Scrambled(right, DrawOf(key, round)) >> (32 - left_bits);
        right ^= Scrambled(left, DrawOf(key, round + 1)) >> (32 - right_bits);
      }
      x = (uint64_t{left} << right_bits) + right;
    } while (x >= n);
    out[j] = x;
  }
  return out;
}

}  // namespace feedmill::reference
