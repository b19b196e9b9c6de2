#ifndef FEEDMILL_CLOUD_CLOUD_RESOLVERS_H_
#define FEEDMILL_CLOUD_CLOUD_RESOLVERS_H_

#include "cloud/http.h"
#include "feedmill/resolver.h"

namespace feedmill {

// Adds the resolvers that use a cloud's HTTP API: gce:GROUP, kubernetes: and
// tpu:NAME. `open_http` makes their requests: OpenHttp() of cloud/http_client.h
// in a program; null if there is no network. InvalidArgument if one of these
// schemes is registered already.
//
//   ResolverRegistry resolvers = BuiltinResolvers();
//   FM_RETURN_IF_ERROR(AddCloudResolvers(OpenHttp, &resolvers));
absl::Status AddCloudResolvers(const HttpOpener& open_http,
                               ResolverRegistry* registry);

}  // namespace feedmill

#endif  // FEEDMILL_CLOUD_CLOUD_RESOLVERS_H_
