// Limit of range → map x * x → sum: a hand-written loop.
//
//   limit_range N

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "bench/process_usage.h"

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: limit_range N\n"), 2;
  const int64_t n = std::atoll(argv[1]);
  constexpr int64_t kBlock = 1 << 15;
  const auto start = std::chrono::steady_clock::now();
  uint64_t sum = 0;
#pragma omp parallel reduction(+ : sum)
  {
    std::vector<uint64_t> block(kBlock);
#pragma omp for schedule(dynamic, 1)
    for (int64_t at = 0; at < n; at += kBlock) {
      const int64_t count = at + kBlock < n ? kBlock : n - at;
      for (int64_t k = 0; k < count; ++k) {
        const auto x = static_cast<uint64_t>(at + k);
        block[static_cast<size_t>(k)] = x * x;
      }
      asm volatile("" : : "r"(block.data()) : "memory");  // forces the stores
      for (int64_t k = 0; k < count; ++k) sum += block[static_cast<size_t>(k)];
    }
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  const double cpu = feedmill::bench::CpuSeconds();
  std::printf(
      "{\"elements\": %lld, \"seconds\": %.4f, \"cpu_s\": %.3f, \"check\": "
      "%llu}\n",
      static_cast<long long>(n), seconds, cpu,
      static_cast<unsigned long long>(sum));
  return 0;
}
