// Runs a pipeline with the naive interpreter, to compare with a real run. Slow,
// and keeps everything in memory: for small data.
//
//   feedmill_reference PIPELINE.yaml [EPOCH]
//
// Prints {"elements": N, "order_hash": "..."}; exit status 1 if the pipeline
// ends in a data error, 2 if it cannot be read.

#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "core/base/status.h"
#include "core/definition/pipeline_text.h"
#include "tests/reference/interpreter.h"

namespace {

constexpr size_t kElementsMax = 10'000'000;

int Run(const std::string& path, uint64_t epoch) {
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto graph = feedmill::ParseGraphYaml(
      text, std::filesystem::absolute(path).parent_path().string());
  if (!file || !graph.ok()) {
    fmt::print(stderr, "feedmill_reference: {}: {}\n", path,
               file ? feedmill::ErrorText(graph.status()) : "cannot be read");
    return 2;
  }
  if (!graph->options.seed.has_value()) {
    fmt::print(stderr, "feedmill_reference: {}: options.seed is needed\n",
               path);
    return 2;
  }
  const feedmill::reference::Sequence made = feedmill::reference::Interpret(
      *graph, *graph->options.seed, epoch, kElementsMax);
  fmt::print("{{\"elements\": {}, \"order_hash\": \"{}\"}}\n",
             made.elements.size(),
             feedmill::reference::OrderHash(made.elements));
  if (made.failed) {
    fmt::print(stderr, "feedmill_reference: {}: {}\n", path, made.failure);
  }
  return made.failed ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    fmt::print(stderr, "usage: feedmill_reference PIPELINE.yaml [EPOCH]\n");
    return 2;
  }
  try {
    return Run(argv[1], argc > 2 ? std::stoull(argv[2]) : 0);
    // exceptions of the interpreter are for tests
  } catch (const std::exception& error) {
    fmt::print(stderr, "feedmill_reference: {}\n", error.what());
    return 2;
  }
}
