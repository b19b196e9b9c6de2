#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "core/base/byte_budget.h"
#include "core/base/check.h"
#include "core/base/status.h"
#include "core/dataset/nearest_name.h"
#include "core/net/process_limits.h"
#include "core/process/thread_limit.h"
#include "core/process/write_error.h"
#include "tools/command/commands.h"
#include "tools/command/exit_code.h"
#include "tools/command/flags.h"

namespace feedmill {
namespace {

constexpr Command kCommands[] = {
    {"up", "a dispatcher and workers on this machine", RunUp},
    {"dispatcher", "plans jobs and hands out their work", RunDispatcher},
    {"worker", "reads, decodes and batches for a dispatcher", RunWorker},
    {"server", "one task of a cluster: dispatcher, worker or other", RunServer},
    {"read", "runs a pipeline and prints its elements", RunRead},
    {"head", "shows the first elements of a file or a pipeline", RunHead},
    {"schema", "shows the names and types of their components", RunSchema},
    {"count", "counts their elements", RunCount},
    {"steps", "lists sources, steps and their options", RunSteps},
    {"functions", "lists the functions of expressions", RunFunctions},
    {"index", "builds indexes of record files before a read needs them",
     RunIndex},
    {"cache", "lists and deletes caches on disk", RunCache},
    {"dataset", "has a dispatcher keep pipelines under ids", RunDataset},
    {"state", "shows and copies what a dispatcher keeps", RunState},
    {"token", "merges and shows tokens, from which readers continue", RunToken},
    {"status", "shows what a service is doing", RunStatus},
    {"top", "shows the same in a terminal, live", RunTop},
    {"trace", "records when and where the splits of a job are", RunTrace},
    {"doctor", "checks this machine and a service, and says what to do",
     RunDoctor},
    {"resolve", "shows the tasks of a cluster", RunResolve},
    {"keygen", "makes the keys of a service that encrypts", RunKeygen},
    {"completion", "prints completion for a shell", RunCompletion},
    {"man", "prints a manual page", RunMan},
};

std::string Help() {
  std::string text =
      "feedmill: input data for machine learning, read and prepared by other\n"
      "machines in exactly the order that one thread would make.\n"
      "\n"
      "Usage: feedmill COMMAND [FLAGS]\n"
      "\n";
  for (const Command& command : kCommands) {
    text += fmt::format("  {:<12}{}\n", command.name, command.summary);
  }
  text +=
      "\n"
      "'feedmill COMMAND --help' has each command's flags and examples.\n"
      "\n"
      "Examples:\n"
      "  feedmill head photos/\n"
      "  feedmill read squares.yaml --local\n"
      "  feedmill up --workers 2 --port 5050 &\n"
      "  feedmill read squares.yaml --service localhost:5050\n"
      "\n"
      "Exit status: 0 success, 1 failure, 2 wrong usage or input, 130\n"
      "interrupted.\n";
  return text;
}

absl::StatusOr<int> Dispatch(std::vector<std::string> words,
                             FunctionRegistry registry,
                             ResolverRegistry resolvers) {
  constexpr char kSeeHelp[] = "See 'feedmill --help' for the commands.";
  if (words.empty()) {
    return InvalidArgument("a command is missing\n{}", kSeeHelp);
  }
  const std::string name = words.front();
  if (name == "--help" || name == "-h") {
    std::fputs(Help().c_str(), stdout);
    return 0;
  }
  if (name == "--version") {
    std::puts("feedmill " FEEDMILL_VERSION);
    return 0;
  }
  words.erase(words.begin());
  std::vector<std::string_view> known;
  for (const Command& command : kCommands) {
    if (name == command.name) {
      return command.run(
          {std::move(words),
           std::make_shared<const FunctionRegistry>(std::move(registry)),
           std::make_shared<const ResolverRegistry>(std::move(resolvers))});
    }
    known.emplace_back(command.name);
  }
  return InvalidArgument("unknown command \"{}\"{}\n{}", name,
                         DidYouMean(name, known), kSeeHelp);
}

// Opens missing standard streams. Otherwise the first socket of a process with
// a closed stdout would get descriptor 1, and elements would be printed into
// it.
void OpenStandardStreams() {
  for (int fd = open("/dev/null", O_RDWR); fd >= 0;
       fd = open("/dev/null", O_RDWR)) {
    if (fd > 2) {
      close(fd);
      return;
    }
  }
}

}  // namespace

std::span<const Command> Commands() { return kCommands; }

std::vector<FlagTable> DescribeCommands() {
  std::vector<FlagTable> tables;
  for (const Command& command : kCommands) {
    Invocation invocation;
    invocation.describe = &tables.emplace_back();
    // Fills the table and returns before it does anything.
    FM_CHECK(command.run(invocation).ok());
  }
  return tables;
}

int FeedmillMain(int argc, char** argv, FunctionRegistry registry,
                 ResolverRegistry resolvers) {
  OpenStandardStreams();
  TuneMalloc();
  std::signal(SIGPIPE, SIG_IGN);
  std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  absl::StatusOr<int> result = 0;
  try {
    result =
        Dispatch(std::move(words), std::move(registry), std::move(resolvers));
  } catch (const std::system_error& error) {
    result = ResourceExhausted("cannot start a thread: {} ({})", error.what(),
                               ThreadLimitsText());
  } catch (const std::exception& error) {
    // Only standard library exceptions get here: out of memory or threads.
    result = StatusOf(error);
  }
  if (!result.ok()) {
    std::fputs(StderrText(ErrorText(result.status())).c_str(), stderr);
    result = ExitCodeOf(result.status());
  }
  // A full disk shows here at the latest. A closed pipe is the reader's
  // decision and no error.
  const bool failed = std::ferror(stdout) != 0 || std::fflush(stdout) != 0;
  if (failed && errno != EPIPE && *result == kExitSuccess) {
    std::fputs(
        StderrText("cannot write the output: " + WriteErrorText(errno)).c_str(),
        stderr);
    result = kExitFailure;
  }
  return *result;
}

}  // namespace feedmill
