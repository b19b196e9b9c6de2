#ifndef FEEDMILL_CORE_DATASET_FOREIGN_NAMES_H_
#define FEEDMILL_CORE_DATASET_FOREIGN_NAMES_H_

#include <string>
#include <string_view>
#include <vector>

namespace feedmill {

// The place of functions of expressions, for `where` below.
inline constexpr std::string_view kFunctions = "functions";

// Returns advice about a step, option or function of tf.data, PyTorch,
// torchvision, Hugging Face, Grain, Ray Data or polars that feedmill lacks or
// names differently: the code for feedmill, as the end of a message. Code
// stands in backquotes and is YAML. Returns "" if the name is unknown. Case,
// '-' and '_' in names do not count.
//
// `where` is the step that has the option ("steps[2] shuffle"), or kFunctions;
// it may change the advice. E.g. AnswerToForeignName("prefetch") → "feedmill
// reads ahead by itself; leave it out".
std::string_view AnswerToForeignName(std::string_view name,
                                     std::string_view where = "");

// Returns advice about the options that `map` has in other libraries, such as
// num_parallel_calls. Returns "" for other names.
std::string_view AnswerToOptionOfMap(std::string_view name);

// Returns the end of the message about a name that is not among `known`: "; "
// and advice about a foreign name, or "; did you mean \"batch\"?", or "".
std::string NameHint(std::string_view name, std::string_view where,
                     const std::vector<std::string_view>& known);

// Returns all foreign names that have an answer.
std::vector<std::string> ForeignNames();

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_FOREIGN_NAMES_H_
