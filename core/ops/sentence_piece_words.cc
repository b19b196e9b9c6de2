#include "core/ops/sentence_piece_words.h"

#include <xxhash.h>

#include "core/ops/protobuf_fields.h"

namespace feedmill {
namespace {

constexpr std::string_view kSpace = "\xe2\x96\x81";  // U+2581, a space

// Numbers of sentencepiece_model.proto.
constexpr uint32_t kPieces = 1, kTrainer = 2, kNormalizer = 3;
constexpr uint64_t kBpe = 2, kNormalPiece = 1;

// True if a space stands behind another character.
bool HasSpaceWithin(std::string_view piece) {
  while (piece.starts_with(kSpace)) piece.remove_prefix(kSpace.size());
  return piece.find(kSpace) != piece.npos || piece.find(' ') != piece.npos;
}

struct VocabularyPiece {
  std::string_view text;
  uint64_t type = kNormalPiece;
};

bool ReadPiece(std::string_view message, VocabularyPiece& piece) {
  FieldReader reader(message);
  ProtobufField field;
  while (!reader.done()) {
    if (!reader.Next(field)) return false;
    if (field.number == 1) piece.text = field.bytes;
    if (field.number == 3) piece.type = field.varint;
  }
  return true;
}

bool IsBpe(std::string_view trainer) {
  FieldReader reader(trainer);
  ProtobufField field;
  bool bpe = false;
  bool suffix = false;  // spaces stand behind words
  while (!reader.done()) {
    if (!reader.Next(field)) return false;
    if (field.number == 3) bpe = field.varint == kBpe;
    if (field.number == 24) suffix = field.varint != 0;
  }
  return bpe && !suffix;
}

struct Normalizer {
  std::string_view name;
  bool adds_space = true;
  bool trims = true;  // removes spaces at both ends, and of several all but one
  bool escapes = true;
};

bool ReadNormalizer(std::string_view message, Normalizer& normalizer) {
  FieldReader reader(message);
  ProtobufField field;
  while (!reader.done()) {
    if (!reader.Next(field)) return false;
    if (field.number == 1) normalizer.name = field.bytes;
    if (field.number == 3) normalizer.adds_space = field.varint != 0;
    if (field.number == 4) normalizer.trims = field.varint != 0;
    if (field.number == 5) normalizer.escapes = field.varint != 0;
  }
  return true;
}

bool IsKnown(const Normalizer& normalizer) {
  for (const std::string_view name :
       {"identity", "nfkc", "nmt_nfkc", "nfkc_cf", "nmt_nfkc_cf"}) {
    if (normalizer.name == name) return normalizer.escapes;
  }
  return false;
}

}  // namespace

WordRule WordRule::Of(std::string_view model) {
  FieldReader reader(model);
  ProtobufField field;
  Normalizer normalizer;
  bool bpe = false;
  bool has_space = false;  // else a space would join an unknown piece before it
  while (!reader.done()) {
    if (!reader.Next(field)) return {};
    if (field.IsMessage(kPieces)) {
      VocabularyPiece piece;
      if (!ReadPiece(field.bytes, piece)) return {};
      if (HasSpaceWithin(piece.text)) return {};
      if (piece.text == kSpace) has_space = piece.type == kNormalPiece;
    } else if (field.IsMessage(kTrainer)) {
      bpe = IsBpe(field.bytes);
    } else if (field.IsMessage(kNormalizer)) {
      if (!ReadNormalizer(field.bytes, normalizer)) return {};
    }
  }
  if (!bpe || !has_space || !IsKnown(normalizer)) return {};
  // A space that is neither added nor kept would be lost.
  if (!normalizer.adds_space && normalizer.trims) return {};
  WordRule rule;
  rule.cuts_ = true;
  rule.adds_space_ = normalizer.adds_space;
  rule.trims_ = normalizer.trims;
  rule.identity_ = normalizer.name == "identity";
  if (normalizer.name.starts_with("nmt_")) rule.blanks_ = " \t\n\f\r";
  return rule;
}

bool WordRule::IsPlain(char c) const {
  return identity_ || (c > ' ' && c < '\x7f');
}

WordRule::Word WordRule::WordAt(std::string_view text, size_t begin) const {
  for (size_t at = begin + 1; at + 1 < text.size(); ++at) {
    if (!IsBlank(text[at]) || IsBlank(text[at - 1])) continue;
    // The character U+2581 is a space to the model.
    if (!IsPlain(text[at - 1]) || text.substr(0, at).ends_with(kSpace)) {
      continue;
    }
    size_t next = at + 1;
    while (next < text.size() && IsBlank(text[next])) ++next;
    if (next == text.size() || !IsPlain(text[next])) continue;
    if (!trims_) next = at + (adds_space_ ? 1 : 0);
    return {text.substr(begin, at - begin), next};
  }
  return {text.substr(begin), text.size()};
}

WordIds::WordIds() : entries_(std::make_unique<Place[]>(kEntries)) {}

WordIds::~WordIds() {
  for (size_t k = 0; k < kEntries; ++k) delete entries_[k].load();
}

const std::vector<int>* WordIds::Find(std::string_view word) const {
  const uint64_t hash = XXH3_64bits(word.data(), word.size());
  for (size_t k = 0; k < kProbes; ++k) {
    const Entry* const entry =
        entries_[(hash + k) % kEntries].load(std::memory_order_acquire);
    if (entry == nullptr) return nullptr;
    if (entry->word == word) return &entry->ids;
  }
  return nullptr;
}

void WordIds::Keep(std::string_view word, std::span<const int> ids) {
  if (word.size() > kWordBytesMax) return;
  auto made = std::make_unique<const Entry>(
      Entry{std::string(word), std::vector<int>(ids.begin(), ids.end())});
  const uint64_t hash = XXH3_64bits(word.data(), word.size());
  for (size_t k = 0; k < kProbes; ++k) {
    const Entry* none = nullptr;
    if (entries_[(hash + k) % kEntries].compare_exchange_strong(
            none, made.get(), std::memory_order_release,
            std::memory_order_acquire)) {
      static_cast<void>(made.release());
      return;
    }
    if (none->word == word) return;  // another thread was first
  }
}

}  // namespace feedmill
