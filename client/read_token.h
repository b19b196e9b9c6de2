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

// The numbers of elements are below this (core/chunk/share.h).
inline constexpr uint64_t kElementNumbersMax = uint64_t{1} << 63;

// The state of a reader that a trainer's checkpoint stores: the sequence and
// the position in it.
struct ReadToken {
  std::vector<uint64_t> parts;  // PartsOf the pipeline
  std::string fingerprint;      // of the whole pipeline
  // PlanIdOf, which includes the files. Empty: the token of an epoch that has
  // not begun, whose files are not known.
  std::string plan;
  uint64_t seed = 0;
  uint64_t iteration = 0;
  uint64_t incarnation = 0;  // of the session; 0: a local reader
  // Mode off, through a service: known passes of the run (RunInfo).
  uint64_t passes = 0;
  bool settled = false;
  // Owner of the position: one rank or, with a whole share, all ranks.
  Share share;
  std::vector<NumberRange> skips;  // ReadRules::skips
  ReadPlace place;
  // For evened ranks (EvenRules): the element from which on the elements were
  // divided among these ranks. `padded`: the rank was given its last element
  // twice.
  uint64_t even_start = 0;
  bool padded = false;

  // True for an epoch that has not begun. Its position has no client stage
  // state.
  bool begins() const { return plan.empty(); }
};

// Makes the token of a reader of `graph` at `place`.
ReadToken MakeToken(const Graph& graph, const ReadRules& rules,
                    ReadPlace place);

// Returns hashes of the source and of each step, to find differences.
std::vector<uint64_t> PartsOf(const Graph& graph);

// Encodes a token, with a checksum. Size: less than 1 KiB, plus 8 bytes per
// step, plus the rows that the client stage holds and the state of a generator.
// An earlier build of this version refuses a token that has a state.
std::string EncodeToken(const ReadToken& token);
// InvalidArgument: a token can only point into the last chunk.
absl::Status TooManyUnread(uint64_t unread);
// Decodes a token. InvalidArgument if the bytes are damaged or no token. Work
// and memory are bounded by a constant times their size.
absl::StatusOr<ReadToken> DecodeToken(std::string_view bytes);

// Adds a token's magic and checksum to `body`. `has_state`: it begins with the
// state of a generator.
std::string SealToken(std::string_view body, bool has_state = false);

// Merges the tokens of all ranks of a reading into one. All ranks must have
// made the same number of steps: their next elements are m, m+1, …, one each.
// InvalidArgument names the contradiction.
absl::StatusOr<ReadToken> MergeTokens(std::vector<ReadToken> tokens);

// Combines a reader's options with the token that it resumes from, without
// `numbered`. InvalidArgument if they contradict each other.
absl::StatusOr<ReadRules> MakeRules(Share share, std::vector<NumberRange> skips,
                                    const std::optional<ReadToken>& token);

// InvalidArgument names the part of `graph` that differs from the token: the
// source, a step, an option, the seed.
absl::Status CheckToken(const ReadToken& token, const Graph& graph);
// InvalidArgument if `epoch` is given and differs from the token's.
absl::Status CheckTokenEpoch(const ReadToken& token,
                             const std::optional<uint64_t>& epoch);
// Compares the files, which are known only later. FailedPrecondition.
absl::Status CheckTokenPlan(const ReadToken& token, const std::string& plan);
// FailedPrecondition unless the token belongs to a run of `passes` passes. 0:
// the run reads its graph once.
absl::Status CheckTokenPasses(const ReadToken& token, uint64_t passes);

}  // namespace feedmill

#endif  // FEEDMILL_CLIENT_READ_TOKEN_H_
