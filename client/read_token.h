#ifndef FEEDMILL_CLIENT_READ_TOKEN_H_
#define FEEDMILL_CLIENT_READ_TOKEN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/dataset/graph.h"
#include "core/pipeline/read_place.h"

namespace feedmill {

// What a trainer's checkpoint keeps of a reader: which sequence it reads, and
// where it stands.
struct ReadToken {
  std::vector<uint64_t> parts;  // PartsOf the pipeline
  std::string fingerprint;      // of all of it
  // PlanIdOf, which knows the files too. Empty: the token is that of an epoch
  // that is not begun yet, so that its files are not known.
  std::string plan;
  uint64_t seed = 0;
  uint64_t iteration = 0;
  uint64_t incarnation = 0;  // of the session; 0: a local reader's
  // Mode off, through a service: what is known of the run's slots (RunInfo).
  uint64_t slots = 0;
  bool settled = false;
  // Whose place it is: that of one rank, or (a whole share) of all.
  Share share;
  std::vector<NumberRange> skips;  // ReadRules::skips
  ReadPlace place;

  // True if it is the token of an epoch that is not begun yet: its place has
  // no state of the client stage.
  bool begins() const { return plan.empty(); }
};

// The token of a reader of `graph` that stands at `place`.
ReadToken MakeToken(const Graph& graph, const ReadRules& rules,
                    ReadPlace place);

// A hash of the source and one of each step, to say what differs.
std::vector<uint64_t> PartsOf(const Graph& graph);

// Bytes, with a checksum: below 1 KiB, but for what the client stage holds and
// 8 bytes a step.
std::string EncodeToken(const ReadToken& token);
// InvalidArgument: a token is that of a place within the last chunk.
absl::Status TooManyUnread(uint64_t unread);
// InvalidArgument for bytes that are no token, or damaged. Never more work or
// memory than a constant times their size.
absl::StatusOr<ReadToken> DecodeToken(std::string_view bytes);

// What makes `body` a token as far as its magic and checksum go.
std::string SealToken(std::string_view body);

// One token for all ranks of a reading that made the same number of steps: the
// next elements of `tokens` are m, m+1, … of what is read, one each.
// InvalidArgument says why they are not.
absl::StatusOr<ReadToken> MergeTokens(std::vector<ReadToken> tokens);

// What a reader hands out by its options and by the token that it goes on
// from: InvalidArgument if they do not fit together. Without `numbered`.
absl::StatusOr<ReadRules> MakeRules(Share share, std::vector<NumberRange> skips,
                                    const std::optional<ReadToken>& token);

// InvalidArgument names what of `graph` is not that of the token: the source, a
// step, an option, the seed.
absl::Status CheckToken(const ReadToken& token, const Graph& graph);
// InvalidArgument if `epoch` was asked for and is not the token's.
absl::Status CheckTokenEpoch(const ReadToken& token,
                             const std::optional<uint64_t>& epoch);
// The same for what is only known once the files are: FailedPrecondition.
absl::Status CheckTokenPlan(const ReadToken& token, const std::string& plan);
// FailedPrecondition if the token is not that of a run of so many slots; 0: of
// none.
absl::Status CheckTokenSlots(const ReadToken& token, uint64_t slots);

}  // namespace feedmill

#endif  // FEEDMILL_CLIENT_READ_TOKEN_H_
