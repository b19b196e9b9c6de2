#ifndef FEEDMILL_CLOUD_HTTP_CLIENT_H_
#define FEEDMILL_CLOUD_HTTP_CLIENT_H_

#include "cloud/http.h"

namespace feedmill {

// A conversation over the network, by libcurl: HTTP/1.1 and 2, TLS 1.2 and
// later. Proxies are those of the variables https_proxy, http_proxy and
// no_proxy, unless a request is direct.
HttpFetch OpenHttp(absl::Duration limit);

}  // namespace feedmill

#endif  // FEEDMILL_CLOUD_HTTP_CLIENT_H_
