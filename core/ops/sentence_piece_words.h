#ifndef FEEDMILL_CORE_OPS_SENTENCE_PIECE_WORDS_H_
#define FEEDMILL_CORE_OPS_SENTENCE_PIECE_WORDS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// Texts of a SentencePiece model word by word, with the same ids.

namespace feedmill {

// The places at which a model's texts may be cut. A model qualifies if it is
// BPE and each piece has its spaces at its begin only. Then no merge crosses
// the place before a space, and the merges of each word depend on it alone.
// Unigram models add up floats over the whole text, so that a cut could change
// a tie.
class WordRule {
 public:
  // `model`: the bytes of a model file. Cuts nothing if they are another one.
  static WordRule Of(std::string_view model);

  bool cuts() const { return cuts_; }

  // A word to encode as a text of its own, and the place of the next one.
  struct Word {
    std::string_view text;
    size_t next = 0;
  };
  // Returns the word at `begin`. REQUIRES: begin < text.size().
  Word WordAt(std::string_view text, size_t begin) const;

 private:
  bool IsBlank(char c) const { return blanks_.find(c) != blanks_.npos; }
  // True if the normaliser changes the character alone, not with others.
  bool IsPlain(char c) const;

  bool cuts_ = false;
  bool adds_space_ = true;  // before each text
  bool trims_ = true;       // makes one space of several
  bool identity_ = false;   // the normaliser changes nothing else
  std::string_view blanks_ = " ";
};

// The ids of words, the first ones that came: 65,536 at most, of at most 64
// bytes each. Any thread, without a lock.
class WordIds {
 public:
  static constexpr size_t kWordBytesMax = 64;

  WordIds();
  ~WordIds();
  WordIds(const WordIds&) = delete;
  WordIds& operator=(const WordIds&) = delete;

  // Returns the ids of a word; null if they are not kept.
  const std::vector<int>* Find(std::string_view word) const;
  void Keep(std::string_view word, std::span<const int> ids);

 private:
  struct Entry {
    std::string word;
    std::vector<int> ids;
  };
  using Place = std::atomic<const Entry*>;

  static constexpr size_t kEntries = size_t{1} << 16;
  static constexpr size_t kProbes = 4;  // places that a word may have

  const std::unique_ptr<Place[]> entries_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_SENTENCE_PIECE_WORDS_H_
