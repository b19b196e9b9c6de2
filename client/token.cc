#include "feedmill/token.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "client/read_token.h"
#include "core/base/status.h"

namespace feedmill {

absl::StatusOr<std::string> Token::Merge(std::span<const std::string> tokens) {
  std::vector<ReadToken> parsed;
  for (const std::string& bytes : tokens) {
    FM_ASSIGN_OR_RETURN(ReadToken token, DecodeToken(bytes));
    parsed.push_back(std::move(token));
  }
  FM_ASSIGN_OR_RETURN(const ReadToken merged, MergeTokens(std::move(parsed)));
  return EncodeToken(merged);
}

absl::StatusOr<std::string> Token::Describe(std::string_view bytes) {
  FM_ASSIGN_OR_RETURN(const ReadToken token, DecodeToken(bytes));
  std::string skips;
  for (const auto& [first, second] : token.skips) {
    skips += fmt::format("{}[{},{}]", skips.empty() ? "" : ",", first, second);
  }
  uint64_t held = 0;
  for (const StageState::Step& step : token.place.stage.steps) {
    // Steps that reorder rows list the rows that they still hold.
    if (!step.groups.empty()) {
      held += step.rows.size();
      continue;
    }
    for (const auto& part : step.held) held += part->chunk.rows;
  }
  return fmt::format(
      R"({{"consumer":"{}/{}","next_element":{},"iteration":{},"seed":{},)"
      R"("plan":"{}","skipped_batches":[{}],"records_held":{},"bytes":{}}})",
      token.share.rank, token.share.ranks, token.place.elements,
      token.iteration, token.seed, token.plan, skips, held, bytes.size());
}

}  // namespace feedmill
