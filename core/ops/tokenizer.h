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

  // Appends the token ids of `text`, as int32, to `ids`. `special`: with the
  // tokens that the tokenizer puts around a text. DataLoss if the text is not
  // UTF-8.
  virtual absl::Status Encode(std::string_view text, bool special,
                              BufferBuilder& ids) const = 0;
  // Appends the text of token ids. `special`: with the special tokens.
  virtual absl::Status Decode(std::span<const int32_t> ids, bool special,
                              BufferBuilder& text) const = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_TOKENIZER_H_
