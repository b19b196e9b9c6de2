#ifndef FEEDMILL_CLOUD_CLOUD_CONTEXT_H_
#define FEEDMILL_CLOUD_CLOUD_CONTEXT_H_

#include "cloud/http.h"
#include "feedmill/resolver.h"

namespace feedmill {

// Surroundings of a resolver that asks over the network.
struct CloudContext : ResolverContext {
  HttpOpener open_http = nullptr;  // null where there is no network
};

}  // namespace feedmill

#endif  // FEEDMILL_CLOUD_CLOUD_CONTEXT_H_
