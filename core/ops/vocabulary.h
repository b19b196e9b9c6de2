#ifndef FEEDMILL_CORE_OPS_VOCABULARY_H_
#define FEEDMILL_CORE_OPS_VOCABULARY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace feedmill {

// The lines of a text; each line is the word of its number, from 0 on. A word
// lacks the \n or \r\n of its line. The last line may lack its \n. A byte order
// mark at the beginning is part of no line.
// Immutable: any thread.
class Vocabulary {
 public:
  // InvalidArgument if a line occurs twice, or for 2^31 lines or more.
  static absl::StatusOr<Vocabulary> Parse(std::string text);

  int64_t size() const { return static_cast<int64_t>(words_.size()); }
  // Returns the number of the word, -1 if there is none.
  int64_t Find(std::string_view word) const;

 private:
  struct Word {
    uint64_t begin;
    uint64_t size;
  };

  std::string_view At(size_t id) const {
    return std::string_view(text_).substr(words_[id].begin, words_[id].size);
  }
  // Returns the index in buckets_ of the word, or the free bucket for it.
  size_t BucketOf(std::string_view word) const;

  std::string text_;
  std::vector<Word> words_;
  std::vector<uint32_t>
      buckets_;  // id + 1; 0: free. The size is a power of two
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_VOCABULARY_H_
