// What a user of the library writes: squares of a range, read in this process.
#include <cstdint>
#include <cstdio>

#include "client/reader.h"
#include "core/base/status.h"
#include "core/definition/pipeline_text.h"

int main() {
  auto graph = feedmill::ParseGraphYaml(
      "source: {range: {stop: 5}}\nsteps: [{map: \"x * x\"}]\n", "");
  if (!graph.ok()) {
    std::fputs(feedmill::ErrorText(graph.status()).c_str(), stderr);
    return 1;
  }
  auto reader = feedmill::Read(*graph);
  if (!reader.ok()) {
    std::fputs(feedmill::ErrorText(reader.status()).c_str(), stderr);
    return 1;
  }
  const char* separator = "";
  for (const feedmill::Element element : **reader) {
    std::printf("%s%lld", separator,
                static_cast<long long>(element.Get<int64_t>()));
    separator = " ";
  }
  return (*reader)->status().ok() ? 0 : 1;
}
