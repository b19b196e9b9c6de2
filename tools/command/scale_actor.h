#ifndef FEEDMILL_TOOLS_COMMAND_SCALE_ACTOR_H_
#define FEEDMILL_TOOLS_COMMAND_SCALE_ACTOR_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "feedmill/dispatcher.h"
#include "tools/command/flags.h"

namespace feedmill {

// The options of a dispatcher about the number of its workers.
struct ScaleFlags {
  uint64_t least = 1;
  uint64_t most = 1'000;
  std::string file;
  std::string command;
  absl::Duration command_timeout = absl::Seconds(30);
  bool dry_run = false;

  void Declare(FlagSet& flags, ScaleSettings& settings);
  // The bounds, which the settings hold as well.
  void Set(ScaleSettings& settings) const;
};

// The pace of decisions, which `up` passes on.
void DeclareScalePace(FlagSet& flags, ScaleSettings& settings);

// Brings the wanted number of workers to where the flags say: into a file, and
// to a command, which it runs in a thread of its own. A command that fails or
// takes too long is logged and run again, later each time, until it succeeds
// or another number is wanted.
//
// Thread-safety: Want from any thread; it never waits.
class ScaleActor {
 public:
  explicit ScaleActor(const ScaleFlags& flags);
  ~ScaleActor();  // ends a command that runs
  ScaleActor(const ScaleActor&) = delete;
  ScaleActor& operator=(const ScaleActor&) = delete;

  // Begins its thread. Call it when signals are blocked. InvalidArgument if
  // the flags cannot be followed.
  absl::Status Start();
  void Want(uint64_t workers);

 private:
  class Shell;
  const std::unique_ptr<Shell> shell_;
};

// Runs `command` by /bin/sh with {workers} replaced, and with the variable
// FEEDMILL_WORKERS_WANTED. OK if it exits with 0; DeadlineExceeded after
// `timeout`, Cancelled once `stopped` is true: its process group is then
// killed.
absl::Status RunScaleCommand(const std::string& command, uint64_t workers,
                             absl::Duration timeout,
                             const std::function<bool()>& stopped);

}  // namespace feedmill

#endif  // FEEDMILL_TOOLS_COMMAND_SCALE_ACTOR_H_
