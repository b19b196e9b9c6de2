#include "client/even_elements.h"

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

EvenElements::EvenElements(EvenRules rules, uint64_t left, ElementAgain again)
    : rules_(std::move(rules)),
      again_(std::move(again)),
      padded_(rules_.padded) {
  share_.pads = rules_.even == Even::kPad && !padded_;
  if (rules_.total) share_ = EvenOut(rules_, left);
}

absl::StatusOr<Chunk*> EvenElements::Next(const FetchChunk& fetch) {
  if (rules_.total) return NextCounted(fetch);
  if (rules_.agree) return NextAgreed(fetch);
  return rules_.even == Even::kDrop ? NextToDrop(fetch) : NextToPad(fetch);
}

absl::StatusOr<Chunk*> EvenElements::NextCounted(const FetchChunk& fetch) {
  if (share_.left == 0) return share_.pads ? Pad() : nullptr;
  FM_ASSIGN_OR_RETURN(Chunk* const chunk, fetch());
  if (chunk == nullptr) return nullptr;
  const uint64_t given = std::min<uint64_t>(chunk->rows, share_.left);
  unread_ = chunk->rows - given;
  if (unread_ > 0) *chunk = chunk->Slice(0, static_cast<size_t>(given));
  share_.left -= given;
  if (share_.pads && share_.left == 0) KeepLast(*chunk);
  return chunk;
}

absl::StatusOr<Chunk*> EvenElements::NextAgreed(const FetchChunk& fetch) {
  if (over_) return nullptr;
  if (unread_ == 0 && !exhausted_) {
    FM_ASSIGN_OR_RETURN(fetched_, fetch());
    exhausted_ = fetched_ == nullptr;
    unread_ = exhausted_ ? 0 : fetched_->rows;
  }
  const bool have = unread_ > 0;
  FM_ASSIGN_OR_RETURN(const RanksWithElement ranks, rules_.agree(have));
  over_ = !(rules_.even == Even::kDrop ? ranks.all : ranks.any);
  if (over_) return nullptr;
  if (!have) return Pad();
  const size_t row = fetched_->rows - static_cast<size_t>(unread_--);
  given_ = fetched_->Slice(row, row + 1);
  if (share_.pads) KeepLast(given_);
  return &given_;
}

// Fetches a chunk. At the end, the number of elements is known.
absl::StatusOr<Chunk*> EvenElements::Fetch(const FetchChunk& fetch) {
  FM_ASSIGN_OR_RETURN(Chunk* const chunk, fetch());
  if (chunk == nullptr) {
    rules_.total = rules_.count();
    share_ = EvenOut(rules_, ahead_.rows);
  }
  return chunk;
}

// All ranks have an element of a round if this rank has one of the next round.
// So the last fetched row stays here until the next row or the end has come.
absl::StatusOr<Chunk*> EvenElements::NextToDrop(const FetchChunk& fetch) {
  while (ahead_.rows < 2) {
    const absl::StatusOr<Chunk*> chunk = Fetch(fetch);
    if (!chunk.ok() && ahead_.rows == 0) return chunk.status();
    given_ = std::exchange(ahead_, {});
    unread_ = 0;
    if (chunk.ok() && *chunk != nullptr) {
      ahead_ = std::move(**chunk);
      unread_ = ahead_.rows;
    } else if (chunk.ok() && std::exchange(share_.left, 0) == 0) {
      unread_ = given_.rows;
      return nullptr;
    }
    if (given_.rows > 0) return &given_;
  }
  given_ = ahead_.Slice(0, ahead_.rows - 1);
  ahead_ = ahead_.Slice(ahead_.rows - 1, ahead_.rows);
  unread_ = 1;
  return &given_;
}

absl::StatusOr<Chunk*> EvenElements::NextToPad(const FetchChunk& fetch) {
  FM_ASSIGN_OR_RETURN(Chunk* const chunk, Fetch(fetch));
  if (chunk == nullptr) return share_.pads ? Pad() : nullptr;
  KeepLast(*chunk);
  return chunk;
}

void EvenElements::KeepLast(const Chunk& chunk) {
  last_ = chunk.Slice(chunk.rows - 1, chunk.rows);
}

absl::StatusOr<Chunk*> EvenElements::Pad() {
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
  given_ = *std::exchange(last_, std::nullopt);
  return &given_;
}

void EvenElements::AddTo(ReadToken& token, uint64_t unread) const {
  token.even_start = rules_.start;
  token.padded = padded_ && !(gave_padding_ && unread > 0);
}

std::optional<uint64_t> EvenElements::Left(uint64_t unread) const {
  if (!rules_.total) return std::nullopt;
  return share_.left + (share_.pads ? 1 : 0) + unread;
}

}  // namespace feedmill
