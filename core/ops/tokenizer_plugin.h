#ifndef FEEDMILL_CORE_OPS_TOKENIZER_PLUGIN_H_
#define FEEDMILL_CORE_OPS_TOKENIZER_PLUGIN_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "core/ops/tokenizer.h"

namespace feedmill {

// Makes a tokenizer of a file's contents, by libfeedmill_tokenizers.so or the
// plugin that the variable FEEDMILL_TOKENIZER_PLUGIN names (plugin.h). `path`:
// of the file. `pattern`: of a file of ranks; empty: the file's name has it.
// FailedPrecondition without the plugin, InvalidArgument if the file is not of
// a tokenizer.
absl::StatusOr<std::shared_ptr<const Tokenizer>> ReadTokenizer(
    const std::string& path, const std::string& pattern,
    std::string_view bytes);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_TOKENIZER_PLUGIN_H_
