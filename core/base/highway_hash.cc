#include "core/base/highway_hash.h"

#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "core/base/vector_target.h"

namespace feedmill {
namespace {

constexpr size_t kPacketBytes = 32;

using Lanes = std::array<uint64_t, 4>;
using Packet = std::array<std::byte, kPacketBytes>;

constexpr Lanes kMul0 = {0xdbe6d5d5fe4cce2f, 0xa4093822299f31d0,
                         0x13198a2e03707344, 0x243f6a8885a308d3};
constexpr Lanes kMul1 = {0x3bd39e10cb0ef593, 0xc0acf169b5f18a8c,
                         0xbe5466cf34e90c6c, 0x452821e638d01377};

// Byte k of each half of a merged vector is byte kMerged[k] of that half.
constexpr std::array<uint8_t, 16> kMerged = {3,  12, 2,  5,  14, 1, 15, 0,
                                             11, 4,  10, 13, 9,  6, 8,  7};

struct State {
  Lanes v0;
  Lanes v1;
  Lanes mul0 = kMul0;
  Lanes mul1 = kMul1;
};

uint64_t SwapHalves(uint64_t value) { return (value >> 32) | (value << 32); }

// Rotates each 32-bit half of `value` left. REQUIRES: 0 < bits < 32.
uint64_t RotateHalves(uint64_t value, uint32_t bits) {
  const auto rotated = [bits](uint32_t half) {
    return (half << bits) | (half >> (32 - bits));
  };
  return uint64_t{rotated(static_cast<uint32_t>(value >> 32))} << 32 |
         rotated(static_cast<uint32_t>(value));
}

// Adds the merged bytes of `from` to `to`.
void AddMerged(const Lanes& from, Lanes& to) {
  Packet bytes;
  std::memcpy(bytes.data(), from.data(), sizeof bytes);
  Packet merged;
  for (size_t half = 0; half < kPacketBytes; half += kMerged.size()) {
    for (size_t k = 0; k < kMerged.size(); ++k) {
      merged[half + k] = bytes[half + kMerged[k]];
    }
  }
  Lanes added;
  std::memcpy(added.data(), merged.data(), sizeof added);
  for (size_t k = 0; k < to.size(); ++k) to[k] += added[k];
}

void Update(const Lanes& packet, State& state) {
  constexpr uint64_t kLow = 0xffffffff;
  for (size_t k = 0; k < packet.size(); ++k) {
    state.v1[k] += packet[k] + state.mul0[k];
    state.mul0[k] ^= (state.v1[k] & kLow) * (state.v0[k] >> 32);
    state.v0[k] += state.mul1[k];
    state.mul1[k] ^= (state.v0[k] & kLow) * (state.v1[k] >> 32);
  }
  AddMerged(state.v1, state.v0);
  AddMerged(state.v0, state.v1);
}

// Updates with all whole packets of `bytes`.
void UpdatePackets(std::span<const std::byte> bytes, State& state) {
  for (; bytes.size() >= kPacketBytes; bytes = bytes.subspan(kPacketBytes)) {
    Lanes packet;
    std::memcpy(packet.data(), bytes.data(), kPacketBytes);
    Update(packet, state);
  }
}

// The last four rounds, whose packets are the state itself.
void UpdateLast(State& state) {
  for (int round = 0; round < 4; ++round) {
    Lanes packet;
    for (size_t k = 0; k < packet.size(); ++k) {
      packet[k] = SwapHalves(state.v0[(k + 2) % packet.size()]);
    }
    Update(packet, state);
  }
}

#if defined(__x86_64__)

struct State256 {
  __m256i v0;
  __m256i v1;
  __m256i mul0;
  __m256i mul1;
};

[[gnu::target("avx2"), gnu::always_inline]] inline void Update256(
    __m256i packet, __m256i merged, State256& state) {
  state.v1 = _mm256_add_epi64(state.v1, _mm256_add_epi64(packet, state.mul0));
  state.mul0 = _mm256_xor_si256(
      state.mul0, _mm256_mul_epu32(state.v1, _mm256_srli_epi64(state.v0, 32)));
  state.v0 = _mm256_add_epi64(state.v0, state.mul1);
  state.mul1 = _mm256_xor_si256(
      state.mul1, _mm256_mul_epu32(state.v0, _mm256_srli_epi64(state.v1, 32)));
  state.v0 = _mm256_add_epi64(state.v0, _mm256_shuffle_epi8(state.v1, merged));
  state.v1 = _mm256_add_epi64(state.v1, _mm256_shuffle_epi8(state.v0, merged));
}

[[gnu::target("avx2"), gnu::always_inline]] inline State256 ToVectors(
    const State& state) {
  return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(&state.v0)),
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(&state.v1)),
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(&state.mul0)),
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(&state.mul1))};
}

[[gnu::target("avx2"), gnu::always_inline]] inline void FromVectors(
    const State256& vectors, State& state) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(&state.v0), vectors.v0);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(&state.v1), vectors.v1);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(&state.mul0), vectors.mul0);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(&state.mul1), vectors.mul1);
}

[[gnu::target("avx2"), gnu::always_inline]] inline __m256i MergedBytes() {
  return _mm256_broadcastsi128_si256(
      _mm_loadu_si128(reinterpret_cast<const __m128i*>(kMerged.data())));
}

[[gnu::target("avx2")]] void UpdatePacketsAvx2(std::span<const std::byte> bytes,
                                               State& state) {
  const __m256i merged = MergedBytes();
  State256 vectors = ToVectors(state);
  const std::byte* at = bytes.data();
  for (size_t left = bytes.size(); left >= kPacketBytes;
       left -= kPacketBytes, at += kPacketBytes) {
    Update256(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)), merged,
              vectors);
  }
  FromVectors(vectors, state);
}

[[gnu::target("avx2")]] void UpdateLastAvx2(State& state) {
  const __m256i merged = MergedBytes();
  State256 vectors = ToVectors(state);
  for (int round = 0; round < 4; ++round) {
    const __m256i swapped = _mm256_shuffle_epi32(vectors.v0, 0b10'11'00'01);
    Update256(_mm256_permute4x64_epi64(swapped, 0b01'00'11'10), merged,
              vectors);
  }
  FromVectors(vectors, state);
}

#endif

void UpdatePacketsForTarget(std::span<const std::byte> bytes, State& state) {
#if defined(__x86_64__)
  if (LoopTarget() >= VectorTarget::kAvx2) {
    return UpdatePacketsAvx2(bytes, state);
  }
#endif
  UpdatePackets(bytes, state);
}

void UpdateLastForTarget(State& state) {
#if defined(__x86_64__)
  if (LoopTarget() >= VectorTarget::kAvx2) return UpdateLastAvx2(state);
#endif
  UpdateLast(state);
}

// Updates with the bytes after the last whole packet, and their number.
void UpdateRest(std::span<const std::byte> rest, State& state) {
  const uint64_t size = rest.size();
  for (uint64_t& lane : state.v0) lane += (size << 32) + size;
  for (uint64_t& lane : state.v1) {
    lane = RotateHalves(lane, static_cast<uint32_t>(size));
  }
  Packet packet{};
  const size_t in_words = rest.size() / 4 * 4;
  const size_t behind = rest.size() % 4;
  std::memcpy(packet.data(), rest.data(), in_words);
  if (rest.size() >= 16) {
    std::memcpy(packet.data() + 28, rest.data() + rest.size() - 4, 4);
  } else if (behind > 0) {
    packet[16] = rest[in_words];
    packet[17] = rest[in_words + behind / 2];
    packet[18] = rest[in_words + behind - 1];
  }
  UpdatePacketsForTarget(packet, state);
}

}  // namespace

uint64_t HighwayHash64(const HighwayKey& key,
                       std::span<const std::byte> bytes) {
  State state;
  for (size_t k = 0; k < key.size(); ++k) {
    state.v0[k] = kMul0[k] ^ key[k];
    state.v1[k] = kMul1[k] ^ SwapHalves(key[k]);
  }
  UpdatePacketsForTarget(bytes, state);
  const size_t rest = bytes.size() % kPacketBytes;
  if (rest > 0) UpdateRest(bytes.last(rest), state);
  UpdateLastForTarget(state);
  return state.v0[0] + state.v1[0] + state.mul0[0] + state.mul1[0];
}

}  // namespace feedmill
