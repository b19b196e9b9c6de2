#ifndef FEEDMILL_TOOLS_COMMAND_FEEDMILL_COMMAND_H_
#define FEEDMILL_TOOLS_COMMAND_FEEDMILL_COMMAND_H_

#include "core/dataset/function_registry.h"
#include "feedmill/resolver.h"

namespace feedmill {

// The `feedmill` command. The shipped binary's main() passes
// BuiltinFunctions(), BuiltinResolvers() and the cloud resolvers. A custom
// binary adds its own functions or resolvers first; the children that `up`
// starts are the same binary.
//
// Returns the exit status: 0 success, 1 failure, 2 bad usage or input that is
// wrong before anything runs, 130 for an interrupted `read`. Errors are one to
// five lines on stderr.
//
// Call it once, from main(), before any thread starts: it ignores SIGPIPE,
// opens missing standard streams and sets process-wide malloc thresholds.
int FeedmillMain(int argc, char** argv, FunctionRegistry registry,
                 ResolverRegistry resolvers = BuiltinResolvers());

}  // namespace feedmill

#endif  // FEEDMILL_TOOLS_COMMAND_FEEDMILL_COMMAND_H_
