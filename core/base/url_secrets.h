#ifndef FEEDMILL_CORE_BASE_URL_SECRETS_H_
#define FEEDMILL_CORE_BASE_URL_SECRETS_H_

#include <string>

namespace feedmill {

// Returns `text` without the parts of URLs that may be secret: "user:password@"
// is left out. A query or fragment of http:// and https:// becomes "?...".
//
//   "http://me:key@host/a.csv?sig=1: not found" → "http://host/a.csv?...: not
//   found"
//
// All errors (status.h) and log lines pass through it.
std::string HideUrlSecrets(std::string text);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_BASE_URL_SECRETS_H_
