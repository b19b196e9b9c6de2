#ifndef FEEDMILL_CORE_OPS_EXAMPLE_PARSER_H_
#define FEEDMILL_CORE_OPS_EXAMPLE_PARSER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "core/chunk/chunk_builder.h"
#include "core/dataset/graph.h"
#include "core/ops/example_layout.h"
#include "feedmill/chunk.h"

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
  explicit ExampleParser(Features features);
  // Of a SequenceExample: features of the context and, with known dims only,
  // of the feature lists, whose rows have a first dimension of steps more.
  explicit ExampleParser(ParseSequenceExampleStep step);

  // Appends a row a record, the k-th feature to component k; the caller then
  // calls FinishRows. The records are not needed afterwards.
  // DataLoss for malformed records and for features that are missing, of
  // another kind or count (named): records[failed] is the first bad one, and of
  // those before it rows may have been appended, which the caller drops.
  absl::Status Parse(std::span<const std::string_view> records,
                     ChunkBuilder& builder, size_t& failed);

 private:
  // Where the bytes of a value stand in a record.
  struct Place {
    size_t begin = 0;
    size_t size = 0;
  };
  // Values of one of the kinds that features have.
  struct Values {
    std::vector<std::string_view> bytes;
    std::vector<int64_t> integers;
    std::vector<float> floats;

    size_t count() const {
      return bytes.size() + integers.size() + floats.size();
    }
    void Clear() { Cut(0); }
    void Cut(size_t count) {
      if (bytes.size() > count) bytes.resize(count);
      if (integers.size() > count) integers.resize(count);
      if (floats.size() > count) floats.resize(count);
    }
  };
  // One feature's place in the record and its values.
  struct Wanted {
    Feature feature;
    bool listed = false;  // in the feature lists: a FeatureList
    bool open = false;    // as many rows of `items` as there are values for
    size_t items = 0;     // of a step; without a first dim that is not known
    bool found = false;
    std::string_view message;  // the encoded Feature or FeatureList
    Shape shape;               // of the row that was read
    Values values;             // … unless they are put into rows
    // `items` of each of the rows that are read together, and maybe more.
    Values rows;
    // By the layout: of each string, or of all numbers.
    std::vector<Place> places;

    // Each row has as many.
    bool fixed() const { return !open && !listed; }
    // From the number of values; false if that does not fit.
    bool SetShape() {
      if (!open) return values.count() == items;
      if (values.count() % items != 0) return false;
      shape[0] = static_cast<int64_t>(values.count() / items);
      return true;
    }
    // The values of a fixed one's row, to be set.
    template <class T>
    std::span<T> Row(std::vector<T>& rows_of, size_t row) const {
      if (rows_of.size() < (row + 1) * items) rows_of.resize((row + 1) * items);
      return {rows_of.data() + row * items, items};
    }
  };

  void Want(Feature feature, bool listed);
  absl::Status ReadRow(std::string_view record, size_t row);
  bool ReadLikeLearnt(std::string_view record, size_t row);
  bool ReadUsualExample(std::string_view record, size_t row);
  void LearnLayout(std::string_view record);
  absl::Status Locate(std::string_view record);
  Wanted* FindWanted(std::string_view key);
  bool LocateEntry(std::string_view entry, bool listed);
  static absl::Status ReadValues(Wanted& wanted);
  static absl::Status ReadFeature(std::string_view message, Wanted& wanted);
  static bool SetUsual(std::string_view message, size_t row, Wanted& wanted);
  static bool ReadUsual(std::string_view message, Wanted& wanted);
  static absl::Status ReadList(Wanted& wanted);
  static void PutIntoRow(size_t row, Wanted& wanted);
  static void AppendRow(const Wanted& wanted, size_t component,
                        ChunkBuilder& builder);
  static void AppendRows(size_t rows, size_t component, Wanted& wanted,
                         ChunkBuilder& builder);

  std::vector<Wanted> wanted_;
  bool any_listed_ = false;
  bool all_fixed_ = true;
  size_t next_ = 0;  // which of them is likely to come next
  ExampleLayout layout_;
  size_t walked_size_ = 0;   // of the last record that was walked
  size_t walked_alike_ = 0;  // how many of that size were, one after the other
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_EXAMPLE_PARSER_H_
