#ifndef FEEDMILL_CORE_BASE_URL_SECRETS_H_
#define FEEDMILL_CORE_BASE_URL_SECRETS_H_

#include <string>
#include <string_view>

namespace feedmill {

// Returns `text` without the parts of URLs that may be secret: "user:password@"
// is left out, and a query or fragment becomes "?...". Two kinds of URLs keep
// their query: tcp://, and s3, gs, az, abfs, abfss and file, in which '?' is a
// wildcard or begins options that are not secret.
//
//   "http://me:key@host/a.csv?sig=1: not found" → "http://host/a.csv?...: not
//   found"
//
// All errors (status.h) and log lines pass through it.
std::string HideUrlSecrets(std::string text);

// Returns the name of a file for a message. A URL has neither its secrets
// (url_secrets.h) nor blanks: "%20" stands for a space. A sentence that is
// searched for URLs would end the URL at a blank, also within a secret.
std::string ShownName(std::string_view name);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_BASE_URL_SECRETS_H_
