#ifndef FEEDMILL_CORE_OPS_SENTENCE_PIECES_H_
#define FEEDMILL_CORE_OPS_SENTENCE_PIECES_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace feedmill {

// A SentencePiece model. Immutable: any thread. Its header stands alone: the
// library's and Abseil's do not bear each other.
class SentencePieces {
 public:
  // Of a model file's bytes; null, and why, if they are none.
  static std::unique_ptr<const SentencePieces> Parse(std::string_view model,
                                                     std::string& error);
  virtual ~SentencePieces() = default;

  // The ids of the pieces of `text`; false, and why, if it has none.
  virtual bool Encode(std::string_view text, std::vector<int>& ids,
                      std::string& error) const = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_SENTENCE_PIECES_H_
