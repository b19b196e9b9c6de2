#ifndef FEEDMILL_CORE_DEFINITION_FOREIGN_NAMES_H_
#define FEEDMILL_CORE_DEFINITION_FOREIGN_NAMES_H_

#include <string_view>

namespace feedmill {

// Steps and options of tf.data, PyTorch's DataLoader, Grain and Ray Data that
// feedmill lacks or calls differently. Returns what to write in feedmill, to
// end a message with, or "" if the table has no such name. Upper case and '-'
// count as lower case and '_'.
//
// `where` names what the option was written for ("steps[2] shuffle"): some
// options have another answer there. E.g. AnswerToForeignName("prefetch") →
// "feedmill reads ahead by itself; leave it out".
std::string_view AnswerToForeignName(std::string_view name,
                                     std::string_view where = "");

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DEFINITION_FOREIGN_NAMES_H_
