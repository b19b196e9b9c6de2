#include "client/read_token.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "core/base/status.h"
#include "core/dataset/graph_text.h"
#include "core/operators/registry.h"

namespace feedmill {
namespace {

// Sorts ranges and joins adjacent ones.
std::vector<NumberRange> Normal(std::vector<NumberRange> ranges) {
  std::sort(ranges.begin(), ranges.end());
  std::vector<NumberRange> normal;
  for (const NumberRange& range : ranges) {
    if (!normal.empty() && range.first <= normal.back().second) {
      normal.back().second = std::max(normal.back().second, range.second);
    } else {
      normal.push_back(range);
    }
  }
  return normal;
}

uint64_t HashOf(const Graph& graph) {
  const std::string text = IdentityText(graph);
  return XXH3_64bits(text.data(), text.size());
}

}  // namespace

std::vector<uint64_t> PartsOf(const Graph& graph) {
  Graph part;
  part.source = graph.source;
  std::vector<uint64_t> parts = {HashOf(part)};
  part.source = MakeSource(RangeSource{});
  for (const Step& step : graph.steps) {
    part.steps = {step};
    parts.push_back(HashOf(part));
  }
  return parts;
}

ReadToken MakeToken(const Graph& graph, const ReadRules& rules,
                    ReadPlace place) {
  ReadToken token;
  token.parts = PartsOf(graph);
  token.fingerprint = Fingerprint(graph);
  token.share = rules.share;
  token.skips = rules.skips;
  token.place = std::move(place);
  return token;
}

absl::Status TooManyUnread(uint64_t unread) {
  return InvalidArgument(
      "{} unread elements are more than the last chunk had: a token is that of "
      "a place within it",
      unread);
}

absl::Status CheckToken(const ReadToken& token, const Graph& graph) {
  const std::vector<uint64_t> parts = PartsOf(graph);
  const size_t common = std::min(parts.size(), token.parts.size());
  for (size_t k = 0; k < common; ++k) {
    if (parts[k] == token.parts[k]) continue;
    if (k == 0) {
      return InvalidArgument(
          "the token is of another pipeline: its source differs");
    }
    return InvalidArgument(
        "the token is of another pipeline: its steps[{}] is not this one's {}",
        k - 1, graph.steps[k - 1].name());
  }
  if (parts.size() != token.parts.size()) {
    return InvalidArgument(
        "the token is of another pipeline: it had {} steps, this one has {}",
        token.parts.size() - 1, parts.size() - 1);
  }
  if (Fingerprint(graph) != token.fingerprint) {
    return InvalidArgument(
        "the token is of another pipeline: its options differ");
  }
  if (graph.options.seed.value_or(token.seed) != token.seed) {
    return InvalidArgument("the token is of seed {}, the pipeline has seed {}",
                           token.seed, *graph.options.seed);
  }
  if (graph.options.order != Order::kDeterministic) {
    return InvalidArgument(
        "the token is of order deterministic, the pipeline has order any");
  }
  return absl::OkStatus();
}

absl::Status CheckTokenEpoch(const ReadToken& token,
                             const std::optional<uint64_t>& epoch) {
  if (epoch.value_or(token.iteration) == token.iteration) {
    return absl::OkStatus();
  }
  return InvalidArgument(
      "epoch {} was asked for, and the token is of epoch {}: leave out one of "
      "them",
      *epoch, token.iteration);
}

absl::Status CheckTokenPlan(const ReadToken& token, const std::string& plan) {
  if (token.begins() || plan == token.plan) return absl::OkStatus();
  return FailedPrecondition(
      "the pipeline's files changed since the token was saved (plan {}, now "
      "{}), so the elements after the token no longer exist",
      token.plan, plan);
}

absl::Status CheckTokenPasses(const ReadToken& token, uint64_t passes) {
  const auto text = [](uint64_t count) {
    return count == 0 ? "one pass"
                      : fmt::format(
                            "{} passes, one a worker (processing_mode "
                            "off, through a service)",
                            count);
  };
  const bool same = (token.passes == 0) == (passes == 0) &&
                    (!token.settled || token.passes == passes);
  if (token.begins() || same) return absl::OkStatus();
  return FailedPrecondition(
      "the token is of a reading of {}, and this is a reading of {}: continue "
      "in the same way, and under another `job` name if that is taken",
      text(token.passes), text(passes));
}

absl::StatusOr<ReadRules> MakeRules(Share share, std::vector<NumberRange> skips,
                                    const std::optional<ReadToken>& token) {
  if (!share.sound()) {
    return InvalidArgument("consumer {}/{}: it is 0/C to C-1/C, C at most {}",
                           share.rank, share.ranks, kRanksMax);
  }
  if (token && !token->share.whole() && token->share != share) {
    return InvalidArgument(
        "the token is that of consumer {}/{} alone, and this is {}/{}; join "
        "those of all {} by feedmill token merge",
        token->share.rank, token->share.ranks, share.rank, share.ranks,
        token->share.ranks);
  }
  for (const auto& [first, second] : skips) {
    if (second <= first || second > kElementNumbersMax) {
      return InvalidArgument(
          "to skip {}:{} is to skip nothing: it is FIRST:END", first, second);
    }
  }
  const uint64_t from = token ? token->place.elements : 0;
  if (token) {
    skips.insert(skips.end(), token->skips.begin(), token->skips.end());
  }
  ReadRules rules{share, Normal(std::move(skips))};
  for (const auto& [first, second] : rules.skips) {
    if (first <= from || (second - first) % share.ranks == 0) continue;
    return InvalidArgument(
        "to skip {}:{}, {} elements, would bring {} consumers out of step: "
        "skip a multiple of {}",
        first, second, second - first, share.ranks, share.ranks);
  }
  return rules;
}

}  // namespace feedmill
