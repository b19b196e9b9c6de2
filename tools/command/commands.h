#ifndef FEEDMILL_TOOLS_COMMAND_COMMANDS_H_
#define FEEDMILL_TOOLS_COMMAND_COMMANDS_H_

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/dataset/function_registry.h"
#include "feedmill/resolver.h"
#include "tools/command/flags.h"

namespace feedmill {

// Input of a subcommand: the words after its name, the functions of
// expressions, and the cluster kinds of URIs. A subcommand returns the exit
// status, or an error that FeedmillMain prints and converts to one.
struct Invocation {
  std::vector<std::string> arguments;
  std::shared_ptr<const FunctionRegistry> registry;
  std::shared_ptr<const ResolverRegistry> resolvers = nullptr;
  // If not null, the command only describes its flags.
  FlagTable* describe = nullptr;
};

absl::StatusOr<int> RunUp(const Invocation& invocation);
absl::StatusOr<int> RunDispatcher(const Invocation& invocation);
absl::StatusOr<int> RunWorker(const Invocation& invocation);
absl::StatusOr<int> RunServer(const Invocation& invocation);
absl::StatusOr<int> RunRead(const Invocation& invocation);
absl::StatusOr<int> RunHead(const Invocation& invocation);
absl::StatusOr<int> RunSchema(const Invocation& invocation);
absl::StatusOr<int> RunCount(const Invocation& invocation);
absl::StatusOr<int> RunSteps(const Invocation& invocation);
absl::StatusOr<int> RunFunctions(const Invocation& invocation);
absl::StatusOr<int> RunIndex(const Invocation& invocation);
absl::StatusOr<int> RunDataset(const Invocation& invocation);
absl::StatusOr<int> RunCache(const Invocation& invocation);
absl::StatusOr<int> RunToken(const Invocation& invocation);
absl::StatusOr<int> RunState(const Invocation& invocation);
absl::StatusOr<int> RunStatus(const Invocation& invocation);
absl::StatusOr<int> RunTop(const Invocation& invocation);
absl::StatusOr<int> RunTrace(const Invocation& invocation);
absl::StatusOr<int> RunDoctor(const Invocation& invocation);
absl::StatusOr<int> RunResolve(const Invocation& invocation);
absl::StatusOr<int> RunKeygen(const Invocation& invocation);
absl::StatusOr<int> RunCompletion(const Invocation& invocation);
absl::StatusOr<int> RunMan(const Invocation& invocation);

struct Command {
  const char* name;
  const char* summary;
  absl::StatusOr<int> (*run)(const Invocation&);
};
// All commands, in the order of --help.
std::span<const Command> Commands();
// The flags of each command, as shown by --help.
std::vector<FlagTable> DescribeCommands();

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

#endif  // FEEDMILL_TOOLS_COMMAND_COMMANDS_H_
