#include "core/ops/sentence_piece_model.h"

#include <sentencepiece_processor.h>

namespace feedmill {
namespace {

class Model final : public SentencePieceModel {
 public:
  bool Load(std::string_view model, std::string& error) {
    return Good(processor_.LoadFromSerializedProto(model), error);
  }
  bool Encode(std::string_view text, std::vector<int>& ids,
              std::string& error) const override {
    return Good(processor_.Encode(text, &ids), error);
  }

 private:
  static bool Good(const sentencepiece::util::Status& status,
                   std::string& error) {
    if (!status.ok()) error = status.error_message();
    return status.ok();
  }

  sentencepiece::SentencePieceProcessor processor_;
};

}  // namespace

std::unique_ptr<const SentencePieceModel> SentencePieceModel::Parse(
    std::string_view model, std::string& error) {
  auto made = std::make_unique<Model>();
  if (!made->Load(model, error)) return nullptr;
  return made;
}

}  // namespace feedmill
