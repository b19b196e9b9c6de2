#ifndef FEEDMILL_CLIENT_EVEN_ELEMENTS_H_
#define FEEDMILL_CLIENT_EVEN_ELEMENTS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "client/read_token.h"
#include "feedmill/reader.h"

namespace feedmill {

// Rules by which the ranks of a reading are evened out (RankOptions::even).
struct EvenRules {
  Even even = Even::kDrop;
  ReadRules rules;  // of this rank
  // Number of elements of all ranks. Nullopt: `agree` tells before each element
  // which ranks have one, or `count` tells it at the end of the sequence.
  std::optional<uint64_t> total;
  std::function<absl::StatusOr<RanksWithElement>(bool have)> agree;
  std::function<uint64_t()> count;
  // Number of the first element that is divided among these ranks.
  uint64_t start = 0;
  // Number of the first element that the reader may give.
  uint64_t from = 0;
  // The rank was given its last element once more already.
  bool padded = false;
};

// The place of a token, as far as evening out is concerned.
void SetEvenPlace(const std::optional<ReadToken>& token, EvenRules& rules);

// The elements that a rank gives of its `left` ones, by their count alone.
struct EvenShare {
  uint64_t left = 0;
  bool pads = false;  // and the last one once more
};
// REQUIRES: rules.total.
EvenShare EvenOut(const EvenRules& rules, uint64_t left);

// The last element of the rank before `number`; nullopt if there is none.
std::optional<uint64_t> LastOfRank(const ReadRules& rules, uint64_t number);

// Makes one element of the sequence once more.
using ElementAgain = std::function<absl::StatusOr<Chunk>(uint64_t number)>;

// Gives a rank as many elements as all other ranks of its reading have.
class EvenElements {
 public:
  // Fetches the next chunk of the sequence; null at its end.
  using FetchChunk = std::function<absl::StatusOr<Chunk*>()>;

  // `left`: number of the rank's elements from its place on.
  EvenElements(EvenRules rules, uint64_t left, ElementAgain again);

  // Returns the next chunk of the rank, which stays in place until the next
  // call; null at the end. FailedPrecondition if there is no element to repeat.
  absl::StatusOr<Chunk*> Next(const FetchChunk& fetch);

  // Number of rows of the sequence's last chunk after the rank's last element
  // except `unread`.
  uint64_t UnreadRows(uint64_t unread) const {
    return gave_padding_ ? 0 : unread + unread_;
  }
  // True if that element may be in the last chunk.
  bool InLastChunk(uint64_t unread) const {
    return !gave_padding_ || unread <= 1;
  }
  // Adds the place of that element to `token`.
  void AddTo(ReadToken& token, uint64_t unread) const;
  std::optional<uint64_t> Left(uint64_t unread) const;
  const std::optional<uint64_t>& total() const { return rules_.total; }

 private:
  absl::StatusOr<Chunk*> NextCounted(const FetchChunk& fetch);
  absl::StatusOr<Chunk*> NextAgreed(const FetchChunk& fetch);
  absl::StatusOr<Chunk*> NextToDrop(const FetchChunk& fetch);
  absl::StatusOr<Chunk*> NextToPad(const FetchChunk& fetch);
  absl::StatusOr<Chunk*> Fetch(const FetchChunk& fetch);
  absl::StatusOr<Chunk*> Pad();
  void KeepLast(const Chunk& chunk);

  EvenRules rules_;
  const ElementAgain again_;
  EvenShare share_;
  Chunk* fetched_ = nullptr;  // agreed: its rows are given one by one
  uint64_t unread_ = 0;       // rows of the sequence's last chunk, not given
  bool exhausted_ = false;
  bool over_ = false;
  Chunk given_;                // a row, or the padding
  Chunk ahead_;                // to drop: rows that were not given yet
  std::optional<Chunk> last_;  // the element that may be given once more
  bool padded_;
  bool gave_padding_ = false;  // the chunk given last is the padding
};

}  // namespace feedmill

#endif  // FEEDMILL_CLIENT_EVEN_ELEMENTS_H_
