// A manifest of any bytes: refused, or the same again.

#include "core/base/check.h"
#include "core/io/manifest.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto manifest = feedmill::Manifest::Parse(text);
  if (!manifest.ok()) return 0;
  FM_CHECK(manifest->Serialize() == text);
  static_cast<void>(manifest->TotalRecords());
  return 0;
}
