#include "core/base/cache_faults.h"

#include <atomic>
#include <memory>

namespace feedmill {
namespace {

constinit std::atomic<uint64_t> g_faults = 0;
// Set once, and kept until the process ends.
constinit std::atomic<const std::string*> g_first_fault = nullptr;

}  // namespace

void NoteCacheFault(std::string_view text) {
  if (g_first_fault.load(std::memory_order_acquire) == nullptr) {
    auto first = std::make_unique<const std::string>(text);
    const std::string* expected = nullptr;
    if (g_first_fault.compare_exchange_strong(expected, first.get())) {
      static_cast<void>(first.release());
    }
  }
  g_faults.fetch_add(1, std::memory_order_release);
}

uint64_t CacheFaultsNoted() { return g_faults.load(std::memory_order_acquire); }

std::string FirstCacheFault() {
  const std::string* const first = g_first_fault.load();
  return first == nullptr ? "" : *first;
}

}  // namespace feedmill
