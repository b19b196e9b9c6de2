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
#include "feedmill/element.h"

namespace feedmill {

// Parses tf.train.Example and SequenceExample messages. It reads protobuf's
// wire format directly, decodes only requested features, and allocates nothing
// per record once its memory has grown.
//
// The last of repeated map keys wins. Packed lists, unpacked lists and lists in
// several parts are equivalent. Unknown fields are skipped.
// Not thread-safe: one parser per thread.
class ExampleParser {
 public:
  // Parses Examples. REQUIRES: dtypes are kBytes, kInt64 or kFloat32; only the
  // first dim of a shape may be unknown. An unknown dim follows from the number
  // of values; a missing feature then has none.
  // Defaults must pass CheckDefault.
  explicit ExampleParser(Features features);
  // Parses SequenceExamples: features of the context, and features of the
  // feature lists. Feature lists have known dims only; their rows have an
  // additional first dimension, the steps.
  explicit ExampleParser(ParseSequenceExampleStep step);

  // InvalidArgument if the default of a feature is no value of its dtype.
  static absl::Status CheckDefault(const Feature& feature);

  // Appends one row per record, feature k to component k; the caller then calls
  // FinishRows. The records are not needed afterwards.
  // DataLoss if a record is malformed or a feature is missing or has another
  // kind or count; the message names it. Then records[failed] is the first bad
  // one. The caller drops rows that were appended for earlier records.
  absl::Status Parse(std::span<const std::string_view> records,
                     ChunkBuilder& builder, size_t& failed);

 private:
  // The place of a value's bytes in a record.
  struct ByteSpan {
    size_t begin = 0;
    size_t size = 0;
  };
  // Values of one kind of feature.
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
  // A requested feature: its place in the record and its values.
  struct Wanted {
    Feature feature;
    bool listed = false;  // true for a feature list
    bool open = false;    // true if the first dim is unknown
    size_t items = 0;     // items of a step, without an unknown first dim
    bool found = false;
    // Value for a record that lacks the feature, if the feature has a default.
    int64_t default_integer = 0;
    float default_float = 0;
    std::string_view message;  // the encoded Feature or FeatureList
    Shape shape;               // of the row that was read
    Values values;             // unless they are put into `rows`
    // `items` values for each of the rows that are read together; may have room
    // for more.
    Values rows;
    // Places in the layout: of each string, or of all numbers.
    std::vector<ByteSpan> places;

    // True if each row has the same number of items.
    bool fixed() const { return !open && !listed; }
    // Computes the shape from the number of values; false if it does not fit.
    bool SetShape() {
      if (!open) return values.count() == items;
      if (values.count() % items != 0) return false;
      shape[0] = static_cast<int64_t>(values.count() / items);
      return true;
    }
    // Returns the memory of a row's values. REQUIRES: fixed().
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
  static void SetDefault(Wanted& wanted);
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
  size_t next_ = 0;  // index of the feature that is expected next
  ExampleLayout layout_;
  size_t walked_size_ = 0;  // of the last parsed record
  size_t walked_alike_ =
      0;  // number of consecutive parsed records of that size
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_EXAMPLE_PARSER_H_
