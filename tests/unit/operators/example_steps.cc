#include "tests/unit/operators/example_steps.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_split.h"
#include "core/base/status.h"
#include "core/dataset/step_kind.h"
#include "core/definition/pipeline_text.h"
#include "core/operators/registry.h"

namespace feedmill {

std::vector<Step> ExampleSteps() {
  std::vector<Step> steps;
  for (const std::string_view name : StepNames()) {
    const std::vector<std::string> forms = absl::StrSplit(
        std::string(FindStepKind(name)->description(name).yaml), '\n');
    for (const std::string& line : forms) {
      const auto graph = ParseGraphYaml(
          fmt::format("source: {{range: 9}}\nsteps:\n  - {}\n", line), "/data");
      EXPECT_TRUE(graph.ok()) << line << ": " << graph.status();
      if (!graph.ok()) continue;
      EXPECT_EQ(graph->steps.at(0).name(), name) << line;
      steps.push_back(graph->steps.at(0));
    }
  }
  return steps;
}

}  // namespace feedmill
