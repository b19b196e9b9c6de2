#ifndef FEEDMILL_CORE_BASE_SHOWN_NAME_H_
#define FEEDMILL_CORE_BASE_SHOWN_NAME_H_

#include <string>
#include <string_view>

namespace feedmill {

// Returns the name of a file for a message. A URL has neither its secrets
// (url_secrets.h) nor blanks: "%20" stands for a space. A sentence that is
// searched for URLs would end the URL at a blank, also within a secret.
std::string ShownName(std::string_view name);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_BASE_SHOWN_NAME_H_
