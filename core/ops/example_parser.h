#ifndef FEEDMILL_CORE_OPS_EXAMPLE_PARSER_H_
#define FEEDMILL_CORE_OPS_EXAMPLE_PARSER_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "core/chunk/chunk.h"
#include "core/dataset/graph.h"

namespace feedmill {

// Reads tf.train.Example messages: protobuf's wire format by hand, only the
// features wanted, no allocation per record once its memory has grown.
//
// The last of repeated map keys wins; packed and unpacked lists, and lists in
// several parts, count alike; unknown fields are skipped.
// Not thread-safe: one parser per thread.
class ExampleParser {
 public:
  // REQUIRES: dtypes are kBytes, kInt64 or kFloat32 and shapes have no unknown
  // dims.
  explicit ExampleParser(std::vector<ParseExampleStep::Feature> features);

  // Appends one row to components first_component + k, k-th feature each; the
  // caller then calls FinishRows. `record` is not needed afterwards.
  // DataLoss for malformed records and for features that are missing, of
  // another kind or count (named); then nothing was appended.
  absl::Status Parse(std::string_view record, ChunkBuilder& builder,
                     size_t first_component = 0);

 private:
  // One feature's place in the record and its values.
  struct Wanted {
    ParseExampleStep::Feature feature;
    size_t items = 0;
    bool found = false;
    std::string_view message;  // the encoded Feature
    std::vector<std::string_view> bytes;
    std::vector<int64_t> integers;
    std::vector<float> floats;
  };

  absl::Status Locate(std::string_view record);
  bool LocateEntry(std::string_view entry);
  static absl::Status ReadValues(Wanted& wanted);
  static void Append(const Wanted& wanted, size_t component,
                     ChunkBuilder& builder);

  std::vector<Wanted> wanted_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_EXAMPLE_PARSER_H_
