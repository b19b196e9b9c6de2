#ifndef FEEDMILL_CORE_DEFINITION_FOREIGN_NAMES_H_
#define FEEDMILL_CORE_DEFINITION_FOREIGN_NAMES_H_

#include <string_view>

namespace feedmill {

// Returns advice about a step or option of tf.data, PyTorch's DataLoader, Grain
// or Ray Data that feedmill lacks or names differently: what to write in
// feedmill, as the end of a message. Returns "" if the name is unknown. Upper
// case and '-' count as lower case and '_'.
//
// `where` is the step that has the option ("steps[2] shuffle"); it may change
// the advice. E.g. AnswerToForeignName("prefetch") → "feedmill reads ahead by
// itself; leave it out".
std::string_view AnswerToForeignName(std::string_view name,
                                     std::string_view where = "");

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DEFINITION_FOREIGN_NAMES_H_
