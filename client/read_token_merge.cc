#include <algorithm>
#include <vector>

#include "client/read_token.h"
#include "core/base/status.h"

namespace feedmill {
namespace {

// Returns the number of elements, without skipped ones, before the next element
// of the token's rank.
uint64_t NextOf(const ReadToken& token) {
  uint64_t next = token.share.From(token.place.elements);
  uint64_t out = 0;
  for (const auto& [first, second] : token.skips) {
    if (next < first) break;
    if (next < second) next = token.share.From(second);
    out += second - first;
  }
  return next - out;
}

// InvalidArgument names the first property in which the tokens differ.
absl::Status CheckSameReading(const ReadToken& a, const ReadToken& b) {
  const auto differ = [](std::string_view what) {
    return InvalidArgument("the tokens are not of one reading: their {} differ",
                           what);
  };
  if (a.fingerprint != b.fingerprint) return differ("pipelines");
  if (a.seed != b.seed) return differ("seeds");
  if (a.iteration != b.iteration) return differ("iterations");
  if (a.plan != b.plan) return differ("files");
  if (a.share.ranks != b.share.ranks) return differ("numbers of consumers");
  if (a.skips != b.skips) return differ("skipped batches");
  return absl::OkStatus();
}

// Checks that `tokens`, sorted by rank, are one of each rank of one reading.
absl::Status CheckAllRanks(const std::vector<ReadToken>& tokens) {
  const uint64_t ranks = tokens.front().share.ranks;
  for (const ReadToken& token : tokens) {
    FM_RETURN_IF_ERROR(CheckSameReading(tokens.front(), token));
  }
  const auto missing = [&](uint64_t rank) {
    return InvalidArgument("the token of consumer {}/{} is missing", rank,
                           ranks);
  };
  for (size_t k = 0; k < tokens.size(); ++k) {
    const uint64_t rank = tokens[k].share.rank;
    if (k > 0 && rank == tokens[k - 1].share.rank) {
      return InvalidArgument("consumer {}/{} has two tokens", rank, ranks);
    }
    if (tokens.size() != ranks && rank != k) return missing(k);
  }
  if (tokens.size() != ranks) return missing(tokens.size());
  return absl::OkStatus();
}

// Checks that the next elements of all ranks are m, m+1, …, one each.
absl::Status CheckOneStep(const std::vector<ReadToken>& tokens) {
  const uint64_t ranks = tokens.front().share.ranks;
  std::vector<uint64_t> nexts;
  nexts.reserve(tokens.size());
  for (const ReadToken& token : tokens) nexts.push_back(NextOf(token));
  const auto [least, most] = std::minmax_element(nexts.begin(), nexts.end());
  const auto rank_of = [&](auto next) {
    return tokens[static_cast<size_t>(next - nexts.begin())].share.rank;
  };
  std::vector<uint64_t> sorted = nexts;
  std::sort(sorted.begin(), sorted.end());
  for (size_t k = 0; k < sorted.size(); ++k) {
    if (sorted[k] == sorted[0] + k) continue;
    return InvalidArgument(
        "the consumers are not at one step: {}/{} continues with element {}, "
        "{}/{} with {}; save the tokens after the same number of elements",
        rank_of(least), ranks, *least, rank_of(most), ranks, *most);
  }
  return absl::OkStatus();
}

// Takes the passes of the run from the tokens that know them. InvalidArgument
// if two of them differ.
absl::Status MergePasses(const std::vector<ReadToken>& tokens,
                         ReadToken& merged) {
  merged.passes = 0;
  merged.settled = false;
  for (const ReadToken& token : tokens) {
    if (merged.settled && token.settled && merged.passes != token.passes) {
      return InvalidArgument(
          "the consumers do not read one run: it has {} passes for one of "
          "them, and {} for {}/{} (processing_mode off); start all from "
          "earlier tokens",
          merged.passes, token.passes, token.share.rank, token.share.ranks);
    }
    if (token.settled) {
      merged.passes = token.passes;
    } else if (!merged.settled) {
      merged.passes = std::max(merged.passes, token.passes);
    }
    merged.settled = merged.settled || token.settled;
  }
  return absl::OkStatus();
}

// Returns the token whose piece begins last at or before element `number`.
const ReadToken& NearestBefore(uint64_t number,
                               const std::vector<ReadToken>& tokens) {
  const ReadToken* nearest = nullptr;
  for (const ReadToken& token : tokens) {
    const uint64_t begin = token.place.number();
    if (begin > number) continue;
    if (nearest == nullptr || nearest->place.number() < begin) nearest = &token;
  }
  return *nearest;
}

}  // namespace

absl::StatusOr<ReadToken> MergeTokens(std::vector<ReadToken> tokens) {
  if (tokens.empty()) return InvalidArgument("there is no token to merge");
  const auto by_rank = [](const ReadToken& a, const ReadToken& b) {
    return a.share.rank < b.share.rank;
  };
  std::sort(tokens.begin(), tokens.end(), by_rank);
  FM_RETURN_IF_ERROR(CheckAllRanks(tokens));
  FM_RETURN_IF_ERROR(CheckOneStep(tokens));
  // The rank with the highest next element was given the last one of all ranks.
  const auto last = std::max_element(
      tokens.begin(), tokens.end(), [](const ReadToken& a, const ReadToken& b) {
        return NextOf(a) < NextOf(b);
      });
  const uint64_t number = last->place.elements;
  ReadToken merged = NearestBefore(number, tokens);
  FM_RETURN_IF_ERROR(MergePasses(tokens, merged));
  for (const ReadToken& token : tokens) {
    merged.incarnation = std::max(merged.incarnation, token.incarnation);
  }
  merged.share = {};
  merged.place.skip = number - merged.place.number();
  merged.place.elements = number;
  merged.even_start = 0;
  merged.padded = false;
  return merged;
}

}  // namespace feedmill
