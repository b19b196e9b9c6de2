#include "client/even_reader.h"

#include <algorithm>
#include <utility>

#include "core/base/status.h"

namespace feedmill {

void SetEvenPlace(const std::optional<ReadToken>& token, EvenRules& rules) {
  if (!token.has_value()) return;
  rules.from = token->place.elements;
  // All ranks stand there: the elements from there on are divided again.
  rules.start = token->share.whole() ? rules.from : token->even_start;
  rules.padded = token->padded;
}

EvenShare EvenOut(const EvenRules& rules, uint64_t left) {
  const uint64_t ranks = rules.rules.share.ranks;
  ReadRules all = rules.rules;
  all.share = {};
  const uint64_t count = ElementsFrom(all, rules.start, *rules.total);
  const uint64_t own = ElementsFrom(rules.rules, rules.start, *rules.total);
  const bool more = own > count / ranks;  // this rank has one of the last few
  if (rules.even == Even::kDrop) {
    return {.left = left - std::min<uint64_t>(left, more ? 1 : 0)};
  }
  return {.left = left, .pads = !rules.padded && count % ranks > 0 && !more};
}

std::optional<uint64_t> LastOfRank(const ReadRules& rules, uint64_t number) {
  for (auto skip = rules.skips.rbegin();; ++skip) {
    const uint64_t below = rules.share.Below(number);
    if (below == 0) return std::nullopt;
    const uint64_t last = rules.share.At(below - 1);
    while (skip != rules.skips.rend() && skip->first > last) ++skip;
    if (skip == rules.skips.rend() || last >= skip->second) return last;
    number = skip->first;
  }
}

// A friend of Reader: it calls the private functions of the reader within.
class EvenReader : public Reader {
 public:
  EvenReader(std::unique_ptr<Reader> reader, EvenRules rules,
             ElementAgain again)
      : reader_(std::move(reader)),
        rules_(std::move(rules)),
        again_(std::move(again)),
        padded_(rules_.padded) {
    share_.pads = rules_.even == Even::kPad && !padded_;
    if (rules_.total) {
      share_ = EvenOut(rules_, reader_->LeftBefore(0).value_or(0));
    }
  }

  const ElementSpec& spec() const override { return reader_->spec(); }
  uint64_t seed() const override { return reader_->seed(); }
  uint64_t epoch() const override { return reader_->epoch(); }
  std::vector<LinkReport> links() const override { return reader_->links(); }
  uint64_t skipped() const override { return reader_->skipped(); }
  void Cancel() override { reader_->Cancel(); }

 private:
  absl::StatusOr<std::optional<Chunk>> FetchChunk() override {
    return rules_.total ? FetchCounted() : FetchAgreed();
  }

  absl::StatusOr<std::optional<Chunk>> FetchCounted() {
    if (share_.left == 0) return share_.pads ? Pad() : End();
    FM_ASSIGN_OR_RETURN(std::optional<Chunk> chunk, reader_->Next());
    if (!chunk.has_value()) return End();
    const uint64_t given = std::min<uint64_t>(chunk->rows, share_.left);
    unread_ = chunk->rows - given;
    if (unread_ > 0) *chunk = chunk->Slice(0, static_cast<size_t>(given));
    share_.left -= given;
    if (share_.pads && share_.left == 0) KeepLast(*chunk);
    return chunk;
  }

  absl::StatusOr<std::optional<Chunk>> FetchAgreed() {
    if (over_) return End();
    if (unread_ == 0 && !exhausted_) {
      FM_ASSIGN_OR_RETURN(std::optional<Chunk> chunk, reader_->Next());
      exhausted_ = !chunk.has_value();
      if (chunk.has_value()) fetched_ = *std::move(chunk);
      unread_ = exhausted_ ? 0 : fetched_.rows;
    }
    const bool have = unread_ > 0;
    FM_ASSIGN_OR_RETURN(const RanksWithElement ranks, rules_.agree(have));
    over_ = !(rules_.even == Even::kDrop ? ranks.all : ranks.any);
    if (over_) return End();
    if (!have) return Pad();
    const size_t row = fetched_.rows - static_cast<size_t>(unread_--);
    Chunk chunk = fetched_.Slice(row, row + 1);
    if (share_.pads) KeepLast(chunk);
    return chunk;
  }

  void KeepLast(const Chunk& chunk) {
    last_ = chunk.Slice(chunk.rows - 1, chunk.rows);
  }

  static absl::StatusOr<std::optional<Chunk>> End() { return std::nullopt; }

  absl::StatusOr<std::optional<Chunk>> Pad() {
    if (!last_.has_value()) {
      const auto number =
          LastOfRank(rules_.rules, rules_.total.value_or(rules_.from));
      if (!share_.pads || !number.has_value()) {
        return FailedPrecondition(
            "even: \"pad\" has no element to repeat, because there are fewer "
            "elements than ranks; use \"drop\"");
      }
      FM_ASSIGN_OR_RETURN(last_, again_(*number));
    }
    share_.pads = false;
    padded_ = gave_padding_ = true;
    return std::exchange(last_, std::nullopt);
  }

  // Number of unread elements of reader_'s last chunk, without those before the
  // place.
  uint64_t UnreadBefore(uint64_t unread) const {
    return gave_padding_ ? 0 : unread + unread_;
  }

  absl::StatusOr<std::string> SaveBefore(uint64_t unread) const override {
    if (gave_padding_ && unread > 1) return TooManyUnread(unread);
    FM_ASSIGN_OR_RETURN(std::string bytes,
                        reader_->SaveBefore(UnreadBefore(unread)));
    const bool padded = padded_ && !(gave_padding_ && unread > 0);
    if (rules_.start == 0 && !padded) return bytes;
    FM_ASSIGN_OR_RETURN(ReadToken token, DecodeToken(bytes));
    token.even_start = rules_.start;
    token.padded = padded;
    return EncodeToken(token);
  }

  absl::StatusOr<uint64_t> NumberBefore(uint64_t unread) const override {
    return reader_->NumberBefore(UnreadBefore(unread));
  }
  uint64_t PassBefore(uint64_t unread) const override {
    return reader_->PassBefore(UnreadBefore(unread));
  }
  std::optional<uint64_t> LeftBefore(uint64_t unread) const override {
    if (!rules_.total) return std::nullopt;
    return share_.left + (share_.pads ? 1 : 0) + unread;
  }
  std::optional<uint64_t> Total() const override { return rules_.total; }

  const std::unique_ptr<Reader> reader_;
  const EvenRules rules_;
  const ElementAgain again_;
  EvenShare share_;
  Chunk fetched_;        // agreed: whose rows are given one by one
  uint64_t unread_ = 0;  // rows of reader_'s last chunk that were not given
  bool exhausted_ = false;
  bool over_ = false;
  std::optional<Chunk> last_;  // that may be given once more
  bool padded_;
  bool gave_padding_ = false;  // the chunk given last is the padding
};

std::unique_ptr<Reader> MakeEvenReader(std::unique_ptr<Reader> reader,
                                       EvenRules rules, ElementAgain again) {
  return std::make_unique<EvenReader>(std::move(reader), std::move(rules),
                                      std::move(again));
}

}  // namespace feedmill
