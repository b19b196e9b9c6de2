// tf.train.Example records from outside: any bytes give rows or DataLoss.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "core/base/check.h"
#include "core/ops/example_parser.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using feedmill::DType;
  const auto spec = std::make_shared<feedmill::ElementSpec>(
      feedmill::ElementSpec{{{"a", DType::kBytes, {}},
                             {"b", DType::kInt64, {2}},
                             {"c", DType::kFloat32, {}}}});
  feedmill::ChunkBuilder builder(spec);
  feedmill::ExampleParser parser({{"a", DType::kBytes, {}},
                                  {"b", DType::kInt64, {2}},
                                  {"c", DType::kFloat32, {}}});
  const std::string_view record(reinterpret_cast<const char*>(data), size);
  const absl::Status status = parser.Parse(record, builder);
  FM_CHECK(status.ok() || absl::IsDataLoss(status));
  if (status.ok()) builder.FinishRows(1);
  const feedmill::Chunk chunk = std::move(builder).Finish();
  FM_CHECK(chunk.Validate().ok());
  return 0;
}
