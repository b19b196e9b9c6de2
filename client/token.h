#ifndef FEEDMILL_CLIENT_TOKEN_H_
#define FEEDMILL_CLIENT_TOKEN_H_

#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace feedmill {

// Tokens of readers (Reader::Save), which are bytes to be kept as they are.
// Any thread.
class Token {
 public:
  // One token for all ranks of a reading, from one of each, saved after the
  // same number of elements: reading goes on from it with any number of ranks
  // and workers. InvalidArgument says why these do not make one.
  static absl::StatusOr<std::string> Merge(std::span<const std::string> tokens);
  // What it says, as a JSON object on one line: whose it is, the number of the
  // next element, the iteration, the seed, what is left out, its size.
  static absl::StatusOr<std::string> Describe(std::string_view token);
};

}  // namespace feedmill

#endif  // FEEDMILL_CLIENT_TOKEN_H_
