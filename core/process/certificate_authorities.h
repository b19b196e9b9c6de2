#ifndef FEEDMILL_CORE_PROCESS_CERTIFICATE_AUTHORITIES_H_
#define FEEDMILL_CORE_PROCESS_CERTIFICATE_AUTHORITIES_H_

#include <string>

namespace feedmill {

// Returns the file of the authorities against which certificates of servers are
// checked. The first of these that is there:
//
//   1. the file that the environment variable SSL_CERT_FILE names, which is not
//      looked at, so that a wrong name is an error;
//   2. the system's file below `root`, where Debian, Fedora, openSUSE or Alpine
//      keep it;
//   3. the file that FEEDMILL_CERTIFICATES names. The Python package sets it to
//      the file of the package certifi.
//
// Returns "" if there is none: then libcurl's own default applies. A libcurl
// that is carried in a package has the default of the system that built it.
std::string AuthoritiesFile(const std::string& root = "/");

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PROCESS_CERTIFICATE_AUTHORITIES_H_
