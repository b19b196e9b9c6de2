#ifndef FEEDMILL_CORE_OPS_EXAMPLE_LAYOUT_H_
#define FEEDMILL_CORE_OPS_EXAMPLE_LAYOUT_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "feedmill/dataset_options.h"

namespace feedmill {

// The common layout of records that were written alike: their size, and all
// bytes that are not values. Comparing these bytes is cheaper than parsing the
// record. Fits no record until it has learnt one.
class ExampleLayout {
 public:
  // Learns a record. After Begin, call Leave for each part that may differ in
  // other records, in order, then Finish. Records of less than eight bytes are
  // not learnt.
  void Begin(std::string_view record);
  void Leave(std::string_view part);
  void Finish();

  bool Fits(std::string_view record) const {
    if (record.size() != size_) return false;
    uint64_t wrong = 0;
    for (const Word& word : words_) {
      uint64_t bytes;
      std::memcpy(&bytes, record.data() + word.at, sizeof bytes);
      wrong |= (bytes ^ word.bytes) & word.mask;
    }
    return wrong == 0;
  }

 private:
  void Keep(size_t end);

  static constexpr size_t kNone = SIZE_MAX;

  // Eight bytes of the record; the bytes in the mask are the same in all
  // records.
  struct Word {
    size_t at = 0;
    uint64_t bytes = 0;
    uint64_t mask = 0;
  };

  size_t size_ = kNone;
  std::vector<Word> words_;
  std::string_view learnt_;  // between Begin and Finish
  size_t passed_ = 0;        // bytes handled so far
};

// ---- values of the features of tf.train.Example messages

// Append the values of a BytesList, Int64List or FloatList, packed or not.
// False if it is malformed.
bool ReadBytesList(std::string_view list, std::vector<std::string_view>& out);
bool ReadInt64List(std::string_view list, std::vector<int64_t>& out);
bool ReadFloatList(std::string_view list, std::vector<float>& out);

// Appends floats that stand one after the other; false if they are not whole.
bool AppendPacked(std::string_view packed, std::vector<float>& out);

// Reads the default of a feature into the one of the numbers that has its
// dtype. False if it is no such number.
bool ParseDefault(const Feature& feature, int64_t& integer, float& real);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_EXAMPLE_LAYOUT_H_
