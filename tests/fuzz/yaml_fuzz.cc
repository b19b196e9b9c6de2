// Any text is a pipeline or an error; a pipeline's canonical text is read back
// as itself, its YAML as the same graph, and checking it ends. The canonical
// reader is fed the text, too.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/dataset/analysis.h"
#include "core/dataset/graph_text.h"
#include "core/definition/pipeline_text.h"
#include "core/ops/builtin_functions.h"

namespace {

void CheckRoundTrip(const feedmill::Graph& graph) {
  const std::string text = feedmill::CanonicalText(graph);
  const auto again = feedmill::ParseGraphJson(text);
  if (!again.ok() || feedmill::CanonicalText(*again) != text) std::abort();
  (void)feedmill::Fingerprint(graph);
  static const auto& functions =
      *new feedmill::FunctionRegistry(feedmill::BuiltinFunctions());
  const auto analyzed = feedmill::Analyze(graph, functions);
  if (analyzed.ok()) (void)(*analyzed)->Explain();
}

void CheckYaml(const feedmill::Graph& graph) {
  const auto again =
      feedmill::ParseGraphYaml(feedmill::YamlText({.graph = graph}), "");
  // YAML may be longer than the text that it is of.
  if (again.ok() &&
      feedmill::CanonicalText(*again) != feedmill::CanonicalText(graph)) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto yaml = feedmill::ParseGraphYaml(text, "/data");
  if (yaml.ok()) {
    CheckRoundTrip(*yaml);
    CheckYaml(*yaml);
  }
  const auto json = feedmill::ParseGraphJson(text);
  if (json.ok()) CheckRoundTrip(*json);
  return 0;
}
