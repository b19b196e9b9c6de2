// A server's config file: no crash, and what was read comes back from the form
// that --print-config writes.

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tools/command/config_text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto entries = feedmill::ParseConfigText(text);
  if (!entries.ok()) return 0;
  for (const feedmill::ConfigEntry& entry : *entries) {
    const auto again = feedmill::ParseConfigText(
        "key: " + feedmill::QuoteConfigValue(entry.value) + "  # from\n");
    if (!again.ok() || again->size() != 1) std::abort();
    // Bytes that are no UTF-8 change, once.
    if (feedmill::QuoteConfigValue(again->front().value) !=
        feedmill::QuoteConfigValue(entry.value)) {
      std::abort();
    }
  }
  return 0;
}
