// ParseGraphJson: the canonical text to a Graph. The text comes from the
// network or a journal, so it is untrusted.

#include "core/base/status.h"
#include "core/definition/json_reader.h"
#include "core/definition/options_text.h"
#include "core/definition/pipeline_text.h"

namespace feedmill {
namespace {

using Json = nlohmann::json;
using Reader = JsonReader;

// More than any text within ParseGraphYaml's bounds, with all escapes.
constexpr size_t kTextMax = size_t{64} << 20;
constexpr size_t kStepsMax = 1000;

absl::Status ReadOptions(const Json& json, Options& options) {
  return Reader(json, "options")
      .Expect({"order", "processing_mode", "seed"})
      .Get("order", "deterministic", Order::kDeterministic, "any", Order::kAny,
           options.order)
      .Get("processing_mode", "dynamic", Options::ProcessingMode::kDynamic,
           "off", Options::ProcessingMode::kOff, options.processing_mode)
      .Get("seed", options.seed)
      .status();
}

absl::Status ReadPlugins(const Json& json,
                         std::map<std::string, std::string>& plugins) {
  if (!json.is_object() || json.empty()) {
    return InvalidArgument("\"plugins\" is not an object or is empty");
  }
  for (const auto& [function, plugin] : json.items()) {
    if (!plugin.is_string()) {
      return InvalidArgument("\"plugins\": \"{}\" is not a string", function);
    }
    plugins.emplace(function, plugin.get<std::string>());
  }
  return absl::OkStatus();
}

class GraphReader {
 public:
  absl::StatusOr<Graph> Read(const Json& json) {
    Graph graph;
    Reader reader(json, "the graph");
    std::vector<const char*> keys = {"options", "source", "steps"};
    const bool plugins = json.contains("plugins");
    if (plugins) keys.push_back("plugins");
    FM_RETURN_IF_ERROR(reader.Expect(keys).status());
    FM_RETURN_IF_ERROR(ReadOptions(json["options"], graph.options));
    if (plugins) {
      FM_RETURN_IF_ERROR(ReadPlugins(json["plugins"], graph.plugins));
    }
    FM_RETURN_IF_ERROR(ReadPipeline(json, reader, graph));
    return graph;
  }

 private:
  absl::Status ReadPipeline(const Json& json, Reader& reader, Graph& graph) {
    FM_ASSIGN_OR_RETURN(
        graph.source,
        ReadSourceJson(json["source"], [this](const Json& one, Graph& input) {
          return ReadInput(one, input);
        }));
    const auto read = [&](const Json& one) {
      if (++steps_ > kStepsMax) {
        return InvalidArgument("more than {} steps", kStepsMax);
      }
      const size_t index = graph.steps.size();
      absl::StatusOr<Step> step = ReadStepJson(one);
      if (!step.ok()) {
        return Annotate(step.status(), fmt::format("steps[{}]", index));
      }
      graph.steps.push_back(*std::move(step));
      return absl::OkStatus();
    };
    return reader.ForEach("steps", read).status();
  }

  absl::Status ReadInput(const Json& json, Graph& graph) {
    if (depth_ == kInputDepthMax || ++inputs_ > kInputsInAllMax) {
      return InvalidArgument(
          "inputs are nested more than {} deep, or are more than {}",
          kInputDepthMax, kInputsInAllMax);
    }
    Reader reader(json, "an input");
    FM_RETURN_IF_ERROR(reader.Expect({"source", "steps"}).status());
    ++depth_;
    FM_RETURN_IF_ERROR(ReadPipeline(json, reader, graph));
    --depth_;
    return absl::OkStatus();
  }

  size_t steps_ = 0;  // including steps of inputs
  size_t inputs_ = 0;
  size_t depth_ = 0;  // nesting of the current input
};

}  // namespace

absl::StatusOr<Graph> ParseGraphJson(std::string_view text) {
  if (text.size() > kTextMax) {
    return InvalidArgument("a graph of {} bytes is too long (at most {})",
                           text.size(), kTextMax);
  }
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return InvalidArgument("the graph is not JSON");
  return GraphReader().Read(json);
}

}  // namespace feedmill
