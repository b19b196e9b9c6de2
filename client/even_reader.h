#ifndef FEEDMILL_CLIENT_EVEN_READER_H_
#define FEEDMILL_CLIENT_EVEN_READER_H_

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
  // which ranks have one.
  std::optional<uint64_t> total;
  std::function<absl::StatusOr<RanksWithElement>(bool have)> agree;
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

// `reader` with as many elements as all other ranks of its reading have.
// FailedPrecondition at the end if there is no element to repeat.
std::unique_ptr<Reader> MakeEvenReader(std::unique_ptr<Reader> reader,
                                       EvenRules rules, ElementAgain again);

}  // namespace feedmill

#endif  // FEEDMILL_CLIENT_EVEN_READER_H_
