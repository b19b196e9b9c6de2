#include "core/base/string_stores.h"

#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace feedmill {
namespace {

#if defined(__x86_64__)
// True for AMD Zen 5 and later. (AMD's "Processor Programming Reference" of
// each processor has the family; families above 15 use the extended field.)
bool IsZen5OrLater() {
  constexpr unsigned kZen5 = 0x1A;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(0, &a, &b, &c, &d) == 0) return false;
  if (b != signature_AMD_ebx || c != signature_AMD_ecx ||
      d != signature_AMD_edx) {
    return false;
  }
  if (__get_cpuid(1, &a, &b, &c, &d) == 0) return false;
  const unsigned family = (a >> 8 & 0xF) + (a >> 20 & 0xFF);
  return family >= kZen5;
}
#endif

}  // namespace

bool StringStoresAreFast() {
#if defined(__x86_64__)
  static const bool fast = IsZen5OrLater();
  return fast;
#else
  return false;
#endif
}

void StoreWords(uint64_t word, size_t words, std::byte* to) {
#if defined(__x86_64__)
  asm volatile("rep stosq" : "+D"(to), "+c"(words) : "a"(word) : "memory");
#else
  for (; words > 0; --words, to += sizeof(word)) {
    std::memcpy(to, &word, sizeof(word));
  }
#endif
}

}  // namespace feedmill
