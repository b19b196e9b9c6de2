// A manifest of a cache with a right checksum and any bytes behind it, and the
// heads of the files that it lists: refused, or the same again.

#include <xxhash.h>

#include <memory>

#include "core/base/check.h"
#include "core/pipeline/cache_file_text.h"
#include "core/pipeline/stored_rows.h"

namespace feedmill {
namespace {

std::shared_ptr<const ElementSpec> Spec() {
  ElementSpec spec;
  spec.components.push_back({"number", DType::kInt64, {2}});
  spec.components.push_back({"text", DType::kBytes, {}});
  return std::make_shared<const ElementSpec>(std::move(spec));
}

void Read(std::string_view list) {
  const std::string key(kCacheKeyBytes, 'k');
  std::string text = CacheManifestText(key, {});
  text.resize(text.size() - 2 * sizeof(uint64_t));  // checksum, number of files
  const uint64_t checksum = XXH3_64bits(list.data(), list.size());
  text.append(reinterpret_cast<const char*>(&checksum), sizeof checksum);
  text += list;
  const auto files = ParseCacheManifest(text, key);
  if (!files.ok()) return;
  const auto again = ParseCacheManifest(CacheManifestText(key, *files), key);
  FM_CHECK(again.ok() && again->size() == files->size());
  static const auto spec = Spec();
  for (const ListedCacheFile& file : *files) {
    const auto segments = ReadCacheHead(
        file.head, file.size,
        std::make_shared<CacheFile>("rows", FileIdentity{file.size}), spec);
    FM_CHECK(segments.ok() || absl::IsDataLoss(segments.status()));
  }
}

}  // namespace
}  // namespace feedmill

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  feedmill::Read({reinterpret_cast<const char*>(data), size});
  return 0;
}
