#include "core/storage/journal_chain.h"

#include <fmt/format.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <random>

namespace feedmill {

ChainChecksum Extend(const ChainChecksum& before, std::string_view payload) {
  XXH3_state_t state;
  XXH3_INITSTATE(&state);
  XXH3_128bits_reset(&state);
  XXH3_128bits_update(&state, before.data(), sizeof(before));
  XXH3_128bits_update(&state, payload.data(), payload.size());
  const XXH128_hash_t hash = XXH3_128bits_digest(&state);
  return {hash.high64, hash.low64};
}

std::string_view BytesOf(const ChainChecksum& chain) {
  return {reinterpret_cast<const char*>(chain.data()), sizeof(chain)};
}

ChainChecksum ChainOf(uint64_t journal) { return {journal, kJournalFormat}; }

uint64_t DrawJournal() {
  std::random_device device;
  return std::uniform_int_distribution<uint64_t>(1)(device);
}

std::string ThisProcess() {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  return fmt::format("process {} on {}", getpid(), host);
}

}  // namespace feedmill
