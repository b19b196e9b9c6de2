#include "core/pipeline/provenance.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "client/read_token.h"
#include "client/reader_parts.h"
#include "core/base/status.h"
#include "core/chunk/jsonl.h"
#include "core/dataset/analysis.h"
#include "core/dataset/graph_text.h"
#include "core/dataset/plugin_pins.h"
#include "core/dataset/random_use.h"
#include "core/io/manifest.h"
#include "core/io/read_stop.h"
#include "core/operators/repeated_graph.h"
#include "core/plan/plan_id.h"
#include "core/sources/field_inference.h"
#include "core/sources/manifest_resolution.h"
#include "feedmill/reader.h"

namespace feedmill {
namespace {

// Checks that the files have not changed since the token.
absl::Status CheckFiles(const ReadToken& token, const Graph& graph,
                        const FunctionRegistry& registry) {
  FM_ASSIGN_OR_RETURN(const auto analyzed, Analyze(graph, registry));
  std::string hash;
  if (analyzed->source.needs_files) {
    FM_ASSIGN_OR_RETURN(const Manifest manifest, ResolveManifest(*analyzed));
    hash = manifest.Hash();
  }
  return CheckTokenPlan(
      token, PlanIdOf(Fingerprint(graph), hash, token.seed, token.iteration));
}

}  // namespace

std::string ShownBatch::ToJson() const {
  std::string text =
      fmt::format(R"({{"batch":{},"iteration":{},"seed":{},"records":)", number,
                  iteration, seed);
  AppendJson(traced.records, text);
  text += ",\"element\":";
  AppendJson(traced.element, 0, text);
  return text + "}";
}

absl::StatusOr<ShownBatch> ShowBatch(const Dataset& dataset, uint64_t number,
                                     const ReadOptions& options) {
  const ReadStop stop(options.hooks.interrupted);
  ReadHooks hooks = options.hooks;
  FM_RETURN_IF_ERROR(PrepareRegistry(hooks));
  const std::shared_ptr<const FunctionRegistry>& registry = hooks.registry;
  Graph read = dataset.graph();
  if (options.seed.has_value()) read.options.seed = options.seed;
  std::error_code error;
  const std::filesystem::path working = std::filesystem::current_path(error);
  MakePathsAbsolute((working / options.directory).string(), read);
  FM_RETURN_IF_ERROR(InferFields(read));
  PinPlugins(*registry, read);
  ShownBatch shown;
  shown.number = number;
  shown.iteration = options.epoch.value_or(0);
  if (!options.resume.token.empty()) {
    FM_ASSIGN_OR_RETURN(const ReadToken token,
                        DecodeToken(options.resume.token));
    FM_RETURN_IF_ERROR(CheckToken(token, read));
    FM_RETURN_IF_ERROR(CheckTokenEpoch(token, options.epoch));
    if (token.passes > 0) read = RepeatedGraph(read);
    FM_RETURN_IF_ERROR(CheckFiles(token, read, *registry));
    shown.seed = token.seed;
    shown.iteration = token.iteration;
  } else if (read.options.seed.has_value()) {
    shown.seed = *read.options.seed;
  } else if (NeedsSeed(read, *registry)) {
    return InvalidArgument(
        "the batches depend on a seed that was drawn: write the seed that was "
        "printed as options.seed, or give a token of that reading");
  }
  FM_ASSIGN_OR_RETURN(shown.traced, TraceElement(read, registry, shown.seed,
                                                 shown.iteration, number));
  return shown;
}

}  // namespace feedmill
