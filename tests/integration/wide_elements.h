#ifndef FEEDMILL_TESTS_INTEGRATION_WIDE_ELEMENTS_H_
#define FEEDMILL_TESTS_INTEGRATION_WIDE_ELEMENTS_H_

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/definition/pipeline_text.h"

namespace feedmill::testing {

// Range of `elements` elements of uint8 [bytes], each full of its number modulo
// 251.
inline Graph WideElements(int elements, size_t bytes) {
  auto graph = ParseGraphYaml(
      fmt::format("source: {{range: {{stop: {}}}}}\n"
                  "steps: [{{map: 'full([{}], cast(x % 251, uint8))'}}]\n"
                  "options: {{seed: 1}}\n",
                  elements, bytes),
      "/");
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *graph;
}

}  // namespace feedmill::testing

#endif  // FEEDMILL_TESTS_INTEGRATION_WIDE_ELEMENTS_H_
