#include "core/base/philox.h"

namespace feedmill {

std::array<uint32_t, 4> Philox(RandomKey key, uint64_t p, uint64_t i) {
  auto k0 = static_cast<uint32_t>(key.low);
  auto k1 = static_cast<uint32_t>(key.low >> 32);
  std::array<uint32_t, 4> c = {
      static_cast<uint32_t>(p), static_cast<uint32_t>(p >> 32),
      static_cast<uint32_t>(i), static_cast<uint32_t>(i >> 32)};
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = uint64_t{0xD2511F53u} * c[0];
    const uint64_t product1 = uint64_t{0xCD9E8D57u} * c[2];
    c = {static_cast<uint32_t>(product1 >> 32) ^ c[1] ^ k0,
         static_cast<uint32_t>(product1),
         static_cast<uint32_t>(product0 >> 32) ^ c[3] ^ k1,
         static_cast<uint32_t>(product0)};
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return c;
}

}  // namespace feedmill
