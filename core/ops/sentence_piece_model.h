#ifndef FEEDMILL_CORE_OPS_SENTENCE_PIECE_MODEL_H_
#define FEEDMILL_CORE_OPS_SENTENCE_PIECE_MODEL_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace feedmill {

// A SentencePiece model. Immutable: any thread. This header includes no other
// library, because the headers of SentencePiece and Abseil conflict.
class SentencePieceModel {
 public:
  // Parses a model file; returns null and sets `error` if it is invalid.
  static std::unique_ptr<const SentencePieceModel> Parse(std::string_view model,
                                                         std::string& error);
  virtual ~SentencePieceModel() = default;

  // Computes the token ids of `text`; returns false and sets `error` if
  // there are none.
  virtual bool Encode(std::string_view text, std::vector<int>& ids,
                      std::string& error) const = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_SENTENCE_PIECE_MODEL_H_
