#ifndef FEEDMILL_CLOUD_HTTP_CLIENT_H_
#define FEEDMILL_CLOUD_HTTP_CLIENT_H_

#include "cloud/http.h"

namespace feedmill {

// Opens a conversation over the network with libcurl: HTTP/1.1 and 2, TLS 1.2
// and later. Uses the proxies of https_proxy, http_proxy and no_proxy, unless a
// request is direct.
HttpFetch OpenHttp(absl::Duration limit);

}  // namespace feedmill

#endif  // FEEDMILL_CLOUD_HTTP_CLIENT_H_
