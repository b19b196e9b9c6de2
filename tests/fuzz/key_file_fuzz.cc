// Key files: no crash, and what is read is written and read again the same.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/net/key_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto key = feedmill::ParseKeyFile(text);
  if (!key.ok()) return 0;
  if (!feedmill::IsKeyText(key->public_key)) std::abort();
  const auto again = feedmill::ParseKeyFile(feedmill::KeyFileText(*key));
  if (!again.ok() || again->role != key->role ||
      again->public_key != key->public_key ||
      again->secret_key != key->secret_key) {
    std::abort();
  }
  return 0;
}
