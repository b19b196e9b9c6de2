// Slurm's host lists and tasks per node: no crash, no end of memory, and what
// is expanded expands to itself.

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/cluster/hostlist.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kListMax = size_t{1} << 20;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto hosts = feedmill::ExpandHostlist(text); hosts.ok()) {
    if (hosts->empty() || hosts->size() > feedmill::kHostsMax) std::abort();
    std::string plain;
    for (const std::string& host : *hosts) {
      if (host.empty()) std::abort();
      plain += (plain.empty() ? "" : ",") + host;
    }
    if (plain.size() <= kListMax) {
      const auto again = feedmill::ExpandHostlist(plain);
      if (!again.ok() || *again != *hosts) std::abort();
    }
  }
  if (const auto counts = feedmill::ExpandTasksPerNode(text); counts.ok()) {
    int64_t total = 0;
    for (const int64_t count : *counts) {
      if (count < 1) std::abort();
      total += count;
    }
    if (total > static_cast<int64_t>(feedmill::kHostsMax)) std::abort();
  }
  return 0;
}
