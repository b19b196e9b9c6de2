// Infinite inputs of which the steps leave nothing, or little.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/definition/pipeline_text.h"
#include "core/ops/builtin_functions.h"
#include "tests/reference/interpreter.h"
#include "tests/unit/pipeline/local_reader.h"

namespace feedmill {
namespace {

Graph Parse(const std::string& source, const std::string& steps) {
  const std::string yaml =
      "source: {" + source + "}\nsteps: [" + steps + "]\noptions: {seed: 7}\n";
  const auto graph = ParseGraphYaml(yaml, "");
  EXPECT_TRUE(graph.ok()) << yaml << graph.status();
  return graph.value_or(Graph());
}

struct SomeElements {
  size_t elements = 0;
  absl::Status status;
};

SomeElements ReadSome(const Graph& graph, size_t limit) {
  static const auto functions =
      std::make_shared<const FunctionRegistry>(BuiltinFunctions());
  const auto reader = LocalReader::Make(graph, functions, {});
  SomeElements out{0, reader.status()};
  while (out.status.ok() && out.elements < limit) {
    const auto chunk = (*reader)->Next(absl::InfiniteFuture());
    out.status = chunk.status();
    if (!chunk.ok() || !*chunk) break;
    out.elements += (*chunk)->rows;
  }
  return out;
}

TEST(InfiniteInputs, WithoutElementsAreAnErrorUnlessATakeEndsThem) {
  const std::string a = "{source: {range: {stop: 7}}, steps: [repeat]}";
  const std::string b =
      "{source: {range: {stop: 5}}, steps: [shuffle, repeat]}";
  const std::string ends = "{source: {range: {stop: 4}}}";
  const auto expect = [](const std::string& source, const std::string& steps,
                         absl::StatusCode code) {
    SCOPED_TRACE(source + " | " + steps);
    const Graph graph = Parse(source, steps);
    const reference::Sequence expected = reference::Interpret(graph, 7, 0, 300);
    const SomeElements read = ReadSome(graph, 1);
    EXPECT_EQ(read.elements, 0u);
    EXPECT_EQ(read.status.code(), code) << read.status;
    EXPECT_EQ(expected.elements.size(), 0u);
    EXPECT_EQ(expected.failed, code != absl::StatusCode::kOk);
  };
  const auto error = absl::StatusCode::kFailedPrecondition;
  const std::vector<std::string> sources = {
      "concatenate: [" + ends + ", " + a + "]",
      "interleave: {inputs: [" + ends + ", " + a + ", " + b + "]}",
      "mixture: {weights: [2, 1], inputs: [" + a + ", " + b + "]}",
      "mixture: {weights: [2, 1], inputs: [" + ends + ", " + ends +
          "], stop: repeat}",
      "mixture: {weights: [2, 1], inputs: [" + ends +
          ", {source: {concatenate: [" + ends + ", " + a +
          "]}}], stop: all_exhausted}"};
  for (const std::string& source : sources) {
    expect(source, "filter: 'x < 0'", error);
    expect(source, "filter: 'x < 0', batch: 2", error);
    expect(source, "filter: 'x < 0', take: 3", error);
    expect(source, "batch: 2, map: 'sum(x)', filter: 'x < 0'", error);
    expect(source, "filter: 'x < 9', batch: 2, filter: 'sum(x) < 0'", error);
    expect(source, "take: 300, filter: 'x < 0'", absl::StatusCode::kOk);
    expect(source, "filter: 'x < 0', take: 0", absl::StatusCode::kOk);
  }
  expect(
      "zip: [{source: {range: 7}, steps: [map: {x: x}, repeat]}, "
      "{source: {range: 6}, steps: [map: {y: x}, repeat]}]",
      "filter: 'x < 0'", error);
}

TEST(InfiniteInputs, WithRareElementsAreRead) {
  const std::string large = "{source: {range: {stop: 10000}}, steps: [repeat]}";
  const std::string drawn =
      "{source: {range: {stop: 10000}}, steps: [shuffle, repeat]}";
  const std::string none =
      "{source: {range: {stop: 3}}, steps: [map: 'x - 9', repeat]}";
  const std::pair<std::string, std::string> all[] = {
      {"concatenate: [{source: {range: {stop: 4}}}, " + drawn + "]",
       "filter: 'x == 77'"},
      {"mixture: {weights: [1, 9], inputs: [" + large + ", " + none + "]}",
       "filter: 'x == 9999'"},
      {"mixture: {weights: [1, 9], inputs: [" + drawn + ", " + none + "]}",
       "filter: 'x == 9999', batch: 8, filter: 'sum(x) > 0'"},
      {"interleave: {inputs: [" + drawn + ", " + none + "], cycle_length: 2}",
       "filter: 'random.uniform(0.0, 1.0) < 0.0001'"},
      {"zip: [{source: {range: 10000}, steps: [map: {x: x}, shuffle, repeat]}, "
       "{source: {range: 10000}, steps: [map: {y: x}, shuffle, repeat]}]",
       "filter: 'x == y'"},
      {"zip: [{source: {range: 1000}, steps: [map: {x: x}, repeat]}, "
       "{source: {range: 999}, steps: [map: {y: x}, repeat]}]",
       "skip: 1000, filter: 'x == y'"},
      {"mixture: {weights: [1, 1], inputs: [" + drawn + ", " + drawn + "]}",
       "batch: 2, filter: 'sum(x) == 9999'"},
      {"mixture: {weights: [1, 1], inputs: [" + large + ", " + drawn + "]}",
       "{shard: {count: 3, index: 1}}, filter: 'x == 77'"},
      {"mixture: {weights: [1, 1], inputs: [" + none + ", " + none + "]}",
       "enumerate, filter: 'index % 1000000 == 999999'"},
      {"mixture: {weights: [1, 1], inputs: [" + none +
           ", {source: {range: 3}, steps: [repeat, {enumerate: {component: "
           "n}}, map: n]}]}",
       "filter: 'x % 1000000 == 999999'"},
  };
  for (const auto& [source, steps] : all) {
    const SomeElements read = ReadSome(Parse(source, steps), 3);
    EXPECT_TRUE(read.status.ok()) << source << steps << read.status;
    EXPECT_GE(read.elements, 3u) << source << steps;
  }
}

}  // namespace
}  // namespace feedmill
