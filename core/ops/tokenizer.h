#ifndef FEEDMILL_CORE_OPS_TOKENIZER_H_
#define FEEDMILL_CORE_OPS_TOKENIZER_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "core/chunk/buffer_builder.h"

namespace feedmill {

// A tokenizer.json or a file of ranks, as a tokenizer. Immutable: any thread.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // Options of the tokens of a text.
  struct Options {
    bool special = true;     // with the tokens that stand around a text
    int64_t length_max = 0;  // most tokens; 0: as the file says
  };

  // Appends the token ids of `text`, as int32, to `ids`. DataLoss if the text
  // is not UTF-8.
  virtual absl::Status Encode(std::string_view text, const Options& options,
                              BufferBuilder& ids) const = 0;
  // Also appends the first and the last character of each token, the last one
  // exclusive: two int32 a token.
  virtual absl::Status EncodePlaces(std::string_view text,
                                    const Options& options, BufferBuilder& ids,
                                    BufferBuilder& places) const = 0;
  // Appends the text of token ids. `special`: with the special tokens.
  virtual absl::Status Decode(std::span<const int32_t> ids, bool special,
                              BufferBuilder& text) const = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_TOKENIZER_H_
