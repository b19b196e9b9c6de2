#ifndef FEEDMILL_CORE_OPS_VOCABULARY_H_
#define FEEDMILL_CORE_OPS_VOCABULARY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace feedmill {

// The lines of a text, of which each is the name of its number, from 0 on. As
// the source `text` has lines: without their \n, of which the last may lack it.
// Immutable: any thread.
class Vocabulary {
 public:
  // InvalidArgument for a line that is there twice, and for 2^31 lines.
  static absl::StatusOr<Vocabulary> Parse(std::string text);

  int64_t size() const { return static_cast<int64_t>(words_.size()); }
  // -1 for what is no line.
  int64_t Find(std::string_view word) const;

 private:
  struct Word {
    uint64_t begin;
    uint64_t size;
  };

  std::string_view At(size_t id) const {
    return std::string_view(text_).substr(words_[id].begin, words_[id].size);
  }
  // Where the word stands, or would stand, in slots_.
  size_t SlotOf(std::string_view word) const;

  std::string text_;
  std::vector<Word> words_;
  std::vector<uint32_t> slots_;  // id + 1; 0: free. A power of two of them.
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_VOCABULARY_H_
