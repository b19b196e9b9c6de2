#include "core/pipeline/cache_key.h"

#include "core/base/status.h"
#include "core/dataset/graph_text.h"
#include "core/dataset/named_files.h"
#include "core/dataset/plugin_pins.h"
#include "core/dataset/random_use.h"
#include "core/pipeline/cache_file_text.h"
#include "core/plan/plan_id.h"

namespace feedmill {

std::string CacheKey(const Plan& plan, const Manifest& manifest,
                     const std::vector<NamedContent>& contents,
                     const FunctionRegistry& registry) {
  const AnalyzedGraph& analyzed = plan.graph();
  Graph graph = analyzed.graph;
  graph.options = {};
  PinPlugins(registry, graph);
  std::string text = fmt::format("{}\n{}\n{}\n{}\n", FEEDMILL_VERSION,
                                 std::string(kCacheFormat), plan.source_size(),
                                 analyzed.source.counted);
  for (const NamedFile& file : NamedFiles(graph)) {
    for (const NamedContent& content : contents) {
      if (content.path != file.path) continue;
      text += fmt::format("{} {}\n", content.hash_high, content.hash_low);
    }
  }
  if (UsesRandomNumbers(graph, registry)) {
    text += fmt::format("{} {}\n", plan.seed(), analyzed.first_step);
  }
  return PlanIdOf(IdentityText(graph) + "\n" + text, manifest.Hash(), 0, 0);
}

}  // namespace feedmill
