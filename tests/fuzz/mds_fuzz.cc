// The bytes of an MDS shard: samples are read as the types that it tells, or
// they are damaged.

#include "core/formats/file_checks.h"
#include "core/formats/mds_shard.h"
#include "tests/fuzz/memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace feedmill;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const MemoryFile file(bytes);
  const auto count = CountMdsSamples(file, size);
  FM_CHECK(count.ok() || absl::IsDataLoss(count.status()));
  const auto fields = MdsFields(file, size);
  if (!fields.ok()) return 0;
  if (!SpecOfFields(*fields, FieldShapes::kAny).ok()) return 0;
  const auto items = OpenMdsShard(file, size, *fields);
  FM_CHECK(items.ok() || absl::IsDataLoss(items.status()));
  if (!items.ok()) return 0;
  FM_CHECK(count.ok() && (*items)->records() == *count);
  CheckItems(**items, *fields, bytes);
  return 0;
}
