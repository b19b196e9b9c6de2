#include <cstdio>
#include <string>

#include "core/base/status.h"
#include "core/dataset/graph_text.h"
#include "core/definition/pipeline_file.h"
#include "feedmill/dataset.h"
#include "tools/command/commands.h"
#include "tools/command/flags.h"
#include "tools/command/op_plugin_flag.h"
#include "tools/command/security_flags.h"

namespace feedmill {
namespace {

constexpr char kDatasetSummary[] =
    "register: has a dispatcher keep the pipeline in a file under an id, and\n"
    "prints the id. show: prints the pipeline of an id, as a file that 'read'\n"
    "takes.";
constexpr char kDatasetExamples[] =
    "Without --id the id is derived from the pipeline: the same pipeline has "
    "the\n"
    "same id. Files are named by their absolute paths. A dispatcher with\n"
    "--work-dir keeps datasets through restarts; it has 1,000 at most.\n"
    "\n"
    "Examples:\n"
    "  feedmill dataset register photos.yaml --id photos --service h:5050\n"
    "  feedmill dataset show photos --service h:5050 > same.yaml\n"
    "  feedmill read --dataset-id photos --service h:5050";

// Single quotes of YAML: only they stand for more than themselves.
std::string Quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    quoted += c;
    if (c == '\'') quoted += c;
  }
  return quoted + "'";
}

}  // namespace

absl::StatusOr<int> RunDataset(const Invocation& invocation) {
  std::string action;
  std::string what;
  std::string id;
  RegistryConfig config;
  OpPluginFlag op_plugins;
  FlagSet flags("dataset", kDatasetSummary, kDatasetExamples);
  flags.Positional("ACTION", "register or show (required)", &action);
  flags.Positional("WHAT", "register: the pipeline's file; show: the id",
                   &what);
  flags.Text("--service", "HOST:PORT", "Address of the dispatcher (required)",
             &config.service);
  flags.Text("--id", "ID", "register: the dataset's id", &id);
  flags.Duration("--timeout", "Longest wait for an answer", &config.timeout);
  flags.Text("--cluster-id", "NAME", "Refuse a dispatcher of another cluster",
             &config.cluster_id);
  DeclareKeys(flags, &config.security);
  DeclareServerKey(flags, &config.security);
  op_plugins.Declare(flags);
  FM_ASSIGN_OR_RETURN(const bool go_on,
                      flags.Parse(invocation.arguments, invocation.describe));
  if (!go_on) return 0;
  if (action != "register" && action != "show") {
    return flags.Error(
        action.empty() ? "ACTION, register or show, is missing"
                       : fmt::format("'{}' is not register or show", action));
  }
  if (what.empty()) {
    return flags.Error(action == "show" ? "WHAT, the id, is missing"
                                        : "WHAT, the file, is missing");
  }
  if (config.service.empty()) {
    return flags.Error("--service HOST:PORT is missing");
  }
  FM_ASSIGN_OR_RETURN(config.registry, op_plugins.AddTo(invocation.registry));
  if (action == "show") {
    if (!id.empty()) return flags.Error("--id is for register");
    FM_ASSIGN_OR_RETURN(const Dataset dataset, DatasetFromId(what, config));
    const std::string text = CanonicalText(dataset.graph());
    std::printf("source: {graph: %s}\n", Quoted(text).c_str());
    return 0;
  }
  FM_ASSIGN_OR_RETURN(Pipeline pipeline, LoadPipeline(what));
  const auto registered = RegisterDataset(pipeline.graph, config, id);
  if (!registered.ok()) return WithLine(registered.status(), pipeline, what);
  std::printf("%s\n", registered->c_str());
  return 0;
}

}  // namespace feedmill
