#include <cstdio>
#include <utility>

#include "cloud/cloud_resolvers.h"
#include "cloud/http_client.h"
#include "core/base/status.h"
#include "core/cluster/host_context.h"
#include "core/cluster/plugin_resolver.h"
#include "core/ops/builtin_functions.h"
#include "tools/command/feedmill_command.h"
#include "tools/command/resource_errors.h"

int main(int argc, char** argv) {
  feedmill::ExplainResourceErrors();
  feedmill::ResolverRegistry resolvers = feedmill::BuiltinResolvers();
  absl::Status added =
      feedmill::AddCloudResolvers(feedmill::OpenHttp, &resolvers);
  if (added.ok()) {
    added = feedmill::AddResolverPlugins(feedmill::HostContext().environment,
                                         &resolvers);
  }
  if (!added.ok()) {
    std::fprintf(stderr, "feedmill: %s\n", feedmill::ErrorText(added).c_str());
    return 2;
  }
  return feedmill::FeedmillMain(argc, argv, feedmill::BuiltinFunctions(),
                                std::move(resolvers));
}
