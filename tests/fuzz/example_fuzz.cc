// tf.train.Example and SequenceExample records from outside. Any bytes give
// rows or DataLoss. A record in an unusual form gives the same rows as one in
// the usual form, with any records parsed before it.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/check.h"
#include "core/chunk/order_hash.h"
#include "core/ops/example_parser.h"

namespace feedmill {
namespace {

// Returns the hash of a record's rows; "" if the record is refused.
std::string Parsed(ExampleParser& parser, const ElementSpec& spec,
                   std::string_view record) {
  ChunkBuilder builder(std::make_shared<ElementSpec>(spec));
  size_t failed = 0;
  const absl::Status status = parser.Parse({&record, 1}, builder, failed);
  FM_CHECK(status.ok() || absl::IsDataLoss(status));
  if (status.ok()) builder.FinishRows(1);
  const Chunk chunk = std::move(builder).Finish();
  FM_CHECK(chunk.Validate().ok());
  if (!status.ok()) return "";
  OrderHash hash;
  hash.Add(chunk);
  return hash.Hex();
}

void Check(const ExampleParser& fresh, const ElementSpec& spec,
           std::string_view record) {
  ExampleParser parser = fresh;
  const std::string parsed = Parsed(parser, spec, record);
  // An unknown field precedes it.
  const std::string unusual = std::string("\x78\x00", 2).append(record);
  FM_CHECK(Parsed(parser, spec, unusual) == parsed);
  FM_CHECK(Parsed(parser, spec, record) == parsed);
  // Often enough that the parser learns the form; then other forms of that
  // size.
  for (int again = 0; again < 16; ++again) {
    FM_CHECK(Parsed(parser, spec, record) == parsed);
  }
  if (parsed.empty()) return;
  for (size_t k = 0; k < record.size(); k += 1 + record.size() / 16) {
    std::string other(record);
    other[k] = static_cast<char>(other[k] ^ (1 << k % 8));
    ExampleParser another = fresh;
    FM_CHECK(Parsed(parser, spec, other) == Parsed(another, spec, other));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view record(reinterpret_cast<const char*>(data), size);
  const ElementSpec fixed = {{{"a", DType::kBytes, {}},
                              {"b", DType::kInt64, {2}},
                              {"c", DType::kFloat32, {}}}};
  Check(ExampleParser({{"a", DType::kBytes, {}},
                       {"b", DType::kInt64, {2}},
                       {"c", DType::kFloat32, {}}}),
        fixed, record);
  const ElementSpec open = {{{"a", DType::kBytes, {kUnknownDim}},
                             {"b", DType::kInt64, {kUnknownDim, 2}},
                             {"c", DType::kFloat32, {kUnknownDim}}}};
  Check(ExampleParser({{"a", DType::kBytes, {kUnknownDim}},
                       {"b", DType::kInt64, {kUnknownDim, 2}},
                       {"c", DType::kFloat32, {kUnknownDim}}}),
        open, record);
  ParseSequenceExampleStep step;
  step.context = {{"a", DType::kBytes, {kUnknownDim}}};
  step.sequence = {{"b", DType::kInt64, {2}}, {"c", DType::kFloat32, {}}};
  Check(ExampleParser(step), open, record);
  return 0;
}

}  // namespace feedmill
