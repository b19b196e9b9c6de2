#include "tests/reference/sentence_piece_ids.h"

#include <sentencepiece_processor.h>

#include <stdexcept>

namespace feedmill::reference {

std::vector<int> SentencePieceIds(const std::string& model,
                                  const std::string& text) {
  sentencepiece::SentencePieceProcessor processor;
  if (!processor.LoadFromSerializedProto(model).ok())
    throw std::runtime_error("not a SentencePiece model");
  return processor.EncodeAsIds(text);
}

}  // namespace feedmill::reference
