#ifndef FEEDMILL_CORE_BASE_URL_SECRETS_H_
#define FEEDMILL_CORE_BASE_URL_SECRETS_H_

#include <string>

namespace feedmill {

// Returns `text` without the parts of http:// and https:// URLs that may be
// secret: "user:password@" is left out, a query or fragment becomes "?...".
//
//   "http://me:key@host/a.csv?sig=1: not found" → "http://host/a.csv?...: not
//   found"
//
// All errors (status.h) and log lines pass through it.
std::string HideUrlSecrets(std::string text);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_BASE_URL_SECRETS_H_
