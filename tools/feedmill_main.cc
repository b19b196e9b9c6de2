#include "core/cluster/resolver_registry.h"
#include "core/ops/builtin_functions.h"
#include "tools/command/feedmill_command.h"

int main(int argc, char** argv) {
  return feedmill::FeedmillMain(argc, argv, feedmill::BuiltinFunctions(),
                                feedmill::BuiltinResolvers());
}
