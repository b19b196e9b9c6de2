#include "feedmill/dataset.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <filesystem>
#include <system_error>
#include <utility>
#include <variant>

#include "client/dispatcher_question.h"
#include "core/base/status.h"
#include "core/dataset/analysis.h"
#include "core/dataset/graph_text.h"
#include "core/dataset/plugin_pins.h"
#include "core/definition/pipeline_text.h"
#include "core/formats/memory_table.h"
#include "core/ops/plugin_functions.h"
#include "core/sources/field_inference.h"

namespace feedmill {
namespace {

absl::StatusOr<std::shared_ptr<const FunctionRegistry>> FunctionsOf(
    const RegistryConfig& config) {
  if (config.registry != nullptr) return config.registry;
  return DefaultFunctions();
}

// The graph that is registered under the id once the request is answered.
absl::StatusOr<std::string> AskRegistry(const RegistryConfig& config,
                                        DatasetRequest request) {
  if (config.service.empty()) {
    return InvalidArgument(
        "a dataset is registered at a dispatcher: name its address, "
        "\"tcp://host:port\"");
  }
  const std::string id = request.id;
  DatasetReply answer;
  const auto take = [&](Message& message) {
    auto* reply = std::get_if<DatasetReply>(&message);
    if (reply == nullptr || reply->id != id) return false;
    answer = std::move(*reply);
    return true;
  };
  FM_RETURN_IF_ERROR(AskDispatcher({.service = config.service,
                                    .cluster_id = config.cluster_id,
                                    .security = config.security,
                                    .question = std::move(request),
                                    .timeout = config.timeout},
                                   take));
  FM_RETURN_IF_ERROR(answer.status);
  return std::move(answer.graph);
}

}  // namespace

absl::StatusOr<std::string> RegisterDataset(const Dataset& dataset,
                                            const RegistryConfig& config,
                                            const std::string& id) {
  FM_ASSIGN_OR_RETURN(const auto functions, FunctionsOf(config));
  Graph graph = dataset.graph();
  std::error_code error;
  const std::filesystem::path working = std::filesystem::current_path(error);
  MakePathsAbsolute((working / config.directory).string(), graph);
  FM_RETURN_IF_ERROR(InferFields(graph));
  PinPlugins(*functions, graph);
  FM_RETURN_IF_ERROR(CarryTables(graph, kCarriedBytesMax));
  FM_RETURN_IF_ERROR(Analyze(graph, *functions).status());
  DatasetRequest request{id, CanonicalText(graph)};
  if (request.id.empty()) {
    request.id =
        fmt::format("dataset-{:016x}",
                    XXH3_64bits(request.graph.data(), request.graph.size()));
  }
  FM_RETURN_IF_ERROR(AskRegistry(config, request).status());
  return std::move(request.id);
}

absl::StatusOr<Dataset> DatasetFromId(const std::string& id,
                                      const RegistryConfig& config,
                                      const ElementSpec* expected) {
  FM_ASSIGN_OR_RETURN(const std::string text, AskRegistry(config, {id, ""}));
  absl::StatusOr<Graph> graph = ParseGraphJson(text);
  if (!graph.ok()) {
    return Annotate(graph.status(), fmt::format("dataset '{}'", id));
  }
  if (expected != nullptr) {
    FM_ASSIGN_OR_RETURN(const auto functions, FunctionsOf(config));
    FM_ASSIGN_OR_RETURN(const auto analyzed, Analyze(*graph, *functions));
    if (!(*analyzed->output == *expected)) {
      return InvalidArgument(
          "dataset '{}' has the elements {}, and {} were expected", id,
          analyzed->output->ToString(), expected->ToString());
    }
  }
  return Dataset(*std::move(graph));
}

}  // namespace feedmill
