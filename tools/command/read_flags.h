#ifndef FEEDMILL_TOOLS_COMMAND_READ_FLAGS_H_
#define FEEDMILL_TOOLS_COMMAND_READ_FLAGS_H_

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/dataset/function_registry.h"
#include "core/definition/pipeline_file.h"
#include "feedmill/reader.h"
#include "tools/command/flags.h"
#include "tools/command/op_plugin_flag.h"
#include "tools/command/security_flags.h"
#include "tools/command/server_flags.h"
#include "tools/command/token_file.h"

namespace feedmill {

// The flags of `feedmill read`.
struct ReadFlags {
  // Value of a count that was not given.
  static constexpr uint64_t kNone = std::numeric_limits<uint64_t>::max();

  std::string pipeline;
  std::string service;
  ClusterFlags cluster;
  bool local = false;
  bool explain = false;
  bool profile = false;
  std::string job;
  bool take_over = false;
  std::string transport = "auto";
  std::string via = "worker";
  std::string compression = "none";
  std::string cluster_id;
  SecurityConfig security;
  uint64_t limit = kNone;
  absl::Duration timeout = absl::Seconds(20);
  std::string format = "jsonl";
  uint64_t threads = 0;
  uint64_t element_bytes_max = 0;
  uint64_t weight = JobOptions().weight;
  std::string token;
  std::string save_token;
  std::string save_every;
  std::string dataset_id;
  std::string even;
  std::string consumer;
  uint64_t epoch = kNone;
  std::string skip_batches;
  uint64_t show_batch = kNone;
  OpPluginFlag op_plugins;
  std::string allow_python;
  HttpFlags http;
  LogFlags log;

  void Declare(FlagSet& flags);
  // Returns a usage error if the flags contradict each other.
  absl::Status Check(const FlagSet& flags) const;

  // Converts the flags of a read of the pipeline `read`, all but --service,
  // --cluster and --profile. Loads the token. `cancel` ends the read.
  absl::StatusOr<ReadOptions> Options(
      const FlagSet& flags, const Pipeline& read,
      std::shared_ptr<const FunctionRegistry> functions,
      const std::atomic<bool>& cancel) const;
  // Converts --save-every. Returns a usage error if it has no meaning.
  absl::StatusOr<SaveInterval> Saves(const FlagSet& flags) const;

 private:
  void DeclareOutput(FlagSet& flags);
  void DeclareShare(FlagSet& flags);
  void DeclareTransport(FlagSet& flags);
  void DeclareTokens(FlagSet& flags);
  absl::Status CheckOrigin(const FlagSet& flags) const;
  absl::Status TakeShare(ReadOptions& options) const;
};

}  // namespace feedmill

#endif  // FEEDMILL_TOOLS_COMMAND_READ_FLAGS_H_
