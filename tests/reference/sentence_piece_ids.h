#ifndef FEEDMILL_TESTS_REFERENCE_SENTENCE_PIECE_IDS_H_
#define FEEDMILL_TESTS_REFERENCE_SENTENCE_PIECE_IDS_H_

#include <string>
#include <vector>

namespace feedmill::reference {

// Encodes a text with the SentencePiece library and the model of those bytes.
// Throws std::runtime_error. This header excludes Abseil, which conflicts with
// the library's own.
std::vector<int> SentencePieceIds(const std::string& model,
                                  const std::string& text);

}  // namespace feedmill::reference

#endif  // FEEDMILL_TESTS_REFERENCE_SENTENCE_PIECE_IDS_H_
