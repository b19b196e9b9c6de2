#include "core/ops/sentence_piece_model.h"

#include <sentencepiece_processor.h>

#include "core/ops/sentence_piece_words.h"

namespace feedmill {
namespace {

class Model final : public SentencePieceModel {
 public:
  bool Load(std::string_view model, std::string& error) {
    rule_ = WordRule::Of(model);
    return Good(processor_.LoadFromSerializedProto(model), error);
  }
  bool Encode(std::string_view text, std::vector<int>& ids,
              std::string& error) const override {
    if (!rule_.cuts()) return Good(processor_.Encode(text, &ids), error);
    ids.clear();
    std::vector<int> made;
    for (size_t begin = 0; begin < text.size();) {
      const auto [word, next] = rule_.WordAt(text, begin);
      const std::vector<int>* known = words_.Find(word);
      if (known == nullptr) {
        if (!Good(processor_.Encode(word, &made), error)) return false;
        words_.Keep(word, made);
        known = &made;
      }
      ids.insert(ids.end(), known->begin(), known->end());
      begin = next;
    }
    return true;
  }

 private:
  static bool Good(const sentencepiece::util::Status& status,
                   std::string& error) {
    if (!status.ok()) error = status.error_message();
    return status.ok();
  }

  sentencepiece::SentencePieceProcessor processor_;
  WordRule rule_;
  mutable WordIds words_;
};

}  // namespace

std::unique_ptr<const SentencePieceModel> SentencePieceModel::Parse(
    std::string_view model, std::string& error) {
  auto made = std::make_unique<Model>();
  if (!made->Load(model, error)) return nullptr;
  return made;
}

}  // namespace feedmill
