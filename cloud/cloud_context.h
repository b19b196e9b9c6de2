#ifndef FEEDMILL_CLOUD_CLOUD_CONTEXT_H_
#define FEEDMILL_CLOUD_CLOUD_CONTEXT_H_

#include "cloud/http.h"
#include "feedmill/resolver.h"

namespace feedmill {

// Context of a resolver that uses the network.
struct CloudContext : ResolverContext {
  HttpOpener open_http = nullptr;  // null if there is no network
};

}  // namespace feedmill

#endif  // FEEDMILL_CLOUD_CLOUD_CONTEXT_H_
