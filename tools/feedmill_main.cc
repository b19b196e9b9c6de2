#include <cstdio>
#include <utility>

#include "core/base/status.h"
#include "core/ops/builtin_functions.h"
#include "feedmill/dataset.h"
#include "feedmill/resolver.h"
#include "tools/command/commands.h"
#include "tools/command/exit_code.h"

int main(int argc, char** argv) {
  feedmill::ExplainResourceErrors();
  absl::StatusOr<feedmill::ResolverRegistry> resolvers =
      feedmill::AllResolvers();
  absl::Status added = resolvers.status();
  if (added.ok()) added = feedmill::AddStores();
  if (!added.ok()) {
    std::fprintf(stderr, "feedmill: %s\n", feedmill::ErrorText(added).c_str());
    return 2;
  }
  return feedmill::FeedmillMain(argc, argv, feedmill::BuiltinFunctions(),
                                *std::move(resolvers));
}
