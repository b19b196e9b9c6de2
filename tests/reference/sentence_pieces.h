#ifndef FEEDMILL_TESTS_REFERENCE_SENTENCE_PIECES_H_
#define FEEDMILL_TESTS_REFERENCE_SENTENCE_PIECES_H_

#include <string>
#include <vector>

namespace feedmill::reference {

// What the SentencePiece library makes of a text with the model of those bytes.
// Throws std::runtime_error. A header without Abseil, which the library's does
// not bear.
std::vector<int> SentencePieceIds(const std::string& model,
                                  const std::string& text);

}  // namespace feedmill::reference

#endif  // FEEDMILL_TESTS_REFERENCE_SENTENCE_PIECES_H_
