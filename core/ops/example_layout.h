#ifndef FEEDMILL_CORE_OPS_EXAMPLE_LAYOUT_H_
#define FEEDMILL_CORE_OPS_EXAMPLE_LAYOUT_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace feedmill {

// What records that are written alike have in common: their size, and all bytes
// but those of values. Comparing these takes less than finding out anew what
// stands where. Fits no record until one was learnt.
class ExampleLayout {
 public:
  // Learns from a record: after Begin, says which parts of it may differ in
  // others, in order, then Finish. Records of less than eight bytes fit none.
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

  // Eight bytes of the record, of which those in the mask are the same in all.
  struct Word {
    size_t at = 0;
    uint64_t bytes = 0;
    uint64_t mask = 0;
  };

  size_t size_ = kNone;
  std::vector<Word> words_;
  std::string_view learnt_;  // between Begin and Finish
  size_t passed_ = 0;        // of its bytes
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_EXAMPLE_LAYOUT_H_
