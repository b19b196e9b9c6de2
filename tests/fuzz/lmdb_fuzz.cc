// The bytes of an LMDB file: entries are found and read, or they are damaged.

#include "core/formats/lmdb_file.h"
#include "tests/fuzz/memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace feedmill;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const MemoryFile file(bytes);
  const auto count = CountLmdbEntries(file, size);
  FM_CHECK(count.ok() || absl::IsDataLoss(count.status()));
  const auto items = OpenLmdbFile(file, size, LmdbFields());
  FM_CHECK(items.ok() || absl::IsDataLoss(items.status()));
  if (!items.ok()) return 0;
  FM_CHECK(count.ok() && (*items)->records() == *count);
  CheckItems(**items, LmdbFields(), bytes);
  return 0;
}
