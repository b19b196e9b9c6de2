#ifndef FEEDMILL_TOKEN_H_
#define FEEDMILL_TOKEN_H_

#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

// Exported from libfeedmill.so.
#pragma GCC visibility push(default)
namespace feedmill {

// Functions on the tokens of Reader::Save. A token is bytes, to be kept as they
// are. Thread-safety: any thread.
class Token {
 public:
  // Returns one token for all ranks, made of one token of each rank. All must
  // be saved after the same number of elements. Reading continues from it with
  // any number of ranks and workers. InvalidArgument says why the tokens do not
  // fit.
  static absl::StatusOr<std::string> Merge(std::span<const std::string> tokens);
  // Returns the token as a JSON object on one line: job, rank, number of the
  // next element, epoch, seed, left-out batches, size.
  static absl::StatusOr<std::string> Describe(std::string_view token);
};

}  // namespace feedmill
#pragma GCC visibility pop

#endif  // FEEDMILL_TOKEN_H_
