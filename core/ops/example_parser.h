#ifndef FEEDMILL_CORE_OPS_EXAMPLE_PARSER_H_
#define FEEDMILL_CORE_OPS_EXAMPLE_PARSER_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "core/chunk/chunk.h"
#include "core/dataset/graph.h"

namespace feedmill {

// Reads tf.train.Example and SequenceExample messages: protobuf's wire format
// by hand, only the features wanted, no allocation per record once its memory
// has grown.
//
// The last of repeated map keys wins; packed and unpacked lists, and lists in
// several parts, count alike; unknown fields are skipped.
// Not thread-safe: one parser per thread.
class ExampleParser {
 public:
  // REQUIRES: dtypes are kBytes, kInt64 or kFloat32 and shapes have no unknown
  // dims but the first, which is as long as there are values for; one that is
  // missing has none.
  explicit ExampleParser(std::vector<ParseExampleStep::Feature> features);
  // Of a SequenceExample: features of the context and, with known dims only,
  // of the feature lists, whose rows have a first dimension of steps more.
  explicit ExampleParser(ParseSequenceExampleStep step);

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
    bool listed = false;  // in the feature lists: a FeatureList
    size_t items = 0;     // of a step; without a first dim that is not known
    bool found = false;
    std::string_view message;  // the encoded Feature or FeatureList
    Shape shape;               // of the row that was read
    std::vector<std::string_view> bytes;
    std::vector<int64_t> integers;
    std::vector<float> floats;

    size_t count() const {
      return bytes.size() + integers.size() + floats.size();
    }
    // As many rows of `items` as there are values for.
    bool open() const {
      return !feature.shape.empty() && feature.shape[0] == kUnknownDim;
    }
    void Clear() {
      bytes.clear();
      integers.clear();
      floats.clear();
    }
    // From the number of values; false if that does not fit.
    bool SetShape() {
      if (!open()) return count() == items;
      if (count() % items != 0) return false;
      shape[0] = static_cast<int64_t>(count() / items);
      return true;
    }
    // Only one of them has any.
    void Cut(size_t count) {
      if (bytes.size() > count) bytes.resize(count);
      if (integers.size() > count) integers.resize(count);
      if (floats.size() > count) floats.resize(count);
    }
  };

  void Want(ParseExampleStep::Feature feature, bool listed);
  bool ReadUsualExample(std::string_view record);
  absl::Status Locate(std::string_view record);
  Wanted* FindWanted(std::string_view key);
  bool LocateEntry(std::string_view entry, bool listed);
  static absl::Status ReadValues(Wanted& wanted);
  static absl::Status ReadFeature(std::string_view message, Wanted& wanted);
  static bool SetUsual(std::string_view message, Wanted& wanted);
  static bool ReadUsual(std::string_view message, Wanted& wanted);
  static absl::Status ReadList(Wanted& wanted);
  static void Append(const Wanted& wanted, size_t component,
                     ChunkBuilder& builder);

  std::vector<Wanted> wanted_;
  bool any_listed_ = false;
  size_t next_ = 0;  // which of them is likely to come next
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_EXAMPLE_PARSER_H_
