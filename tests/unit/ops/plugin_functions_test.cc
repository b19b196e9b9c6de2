#include "core/ops/plugin_functions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <string>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/dataset/graph_text.h"
#include "core/dataset/plugin_pins.h"
#include "core/definition/pipeline_text.h"
#include "core/ops/builtin_functions.h"
#include "feedmill/expr.h"
#include "tests/unit/ops/column_fixture.h"

namespace feedmill {
namespace {

using testing::BytesColumn;
using testing::Call;
using testing::CallResult;
using testing::ColumnOf;
using testing::Constant;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Items;
using testing::LiteralOf;
using testing::Of;
using testing::RaggedColumn;
using testing::Strings;
using Floats = std::vector<float>;

class OpPlugins : public ::testing::Test {
 protected:
  OpPlugins() { unsetenv("ODD_OP_PLUGIN"); }
  ~OpPlugins() override {
    unsetenv("ODD_OP_PLUGIN");
    unsetenv("FEEDMILL_OP_PLUGINS");
  }

  // Returns the error for the odd plugin with that fault.
  std::string Refusal(const std::string& how) {
    setenv("ODD_OP_PLUGIN", how.c_str(), 1);
    FunctionRegistry functions = BuiltinFunctions();
    const absl::Status status = AddOpPlugin(FEEDMILL_ODD_PLUGIN, &functions);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << how << status;
    EXPECT_THAT(ErrorText(status), HasSubstr(FEEDMILL_ODD_PLUGIN));
    EXPECT_EQ(functions.Find("odd.fails"), nullptr) << how;
    return ErrorText(status);
  }
  void GivenPlugin(const char* file) {
    const absl::Status status = AddOpPlugin(file, &functions_);
    ASSERT_TRUE(status.ok()) << status;
  }

  FunctionRegistry functions_ = BuiltinFunctions();
};

TEST_F(OpPlugins, ComputesWholeColumnsOfAnyShape) {
  GivenPlugin(FEEDMILL_EXAMPLE_OP_PLUGIN);
  const auto half = LiteralOf({0.5});
  CallResult result =
      Call(functions_, "example.scale",
           {Of(ColumnOf<float>(DType::kFloat32, {2}, {1, 2, 3, 4})), half}, 2);
  ASSERT_TRUE(result.computed.ok()) << result.computed;
  EXPECT_EQ(result.type.dtype, DType::kFloat32);
  EXPECT_EQ(result.type.shape, Shape({2}));
  EXPECT_THAT(Items<float>(result.column), ElementsAre(0.5, 1, 1.5, 2));

  result = Call(functions_, "example.scale",
                {Of(RaggedColumn<float>(
                     DType::kFloat32, 1,
                     {{{2}, Floats{1, 2}}, {{0}, Floats{}}, {{1}, Floats{3}}})),
                 LiteralOf({int64_t{2}})},
                3);
  ASSERT_TRUE(result.computed.ok()) << result.computed;
  EXPECT_THAT(Items<float>(result.column), ElementsAre(2, 4, 6));
  EXPECT_EQ(result.column.RowShape(1), Shape({0}));
  EXPECT_EQ(result.column.RowShape(2), Shape({1}));

  result = Call(functions_, "example.words",
                {Of(BytesColumn({}, {"to be or", "", " not  to "}))}, 3);
  ASSERT_TRUE(result.computed.ok()) << result.computed;
  EXPECT_THAT(Strings(result.column),
              ElementsAre("to", "be", "or", "not", "to"));
  EXPECT_EQ(result.column.RowShape(0), Shape({3}));
  EXPECT_EQ(result.column.RowShape(1), Shape({0}));
}

TEST_F(OpPlugins, ChecksArgumentsWhenTheyAreTyped) {
  GivenPlugin(FEEDMILL_EXAMPLE_OP_PLUGIN);
  const auto x = Of(ColumnOf<float>(DType::kFloat32, {}, {1}));
  const auto built = [&](const std::vector<testing::CallArgument>& given) {
    const CallResult result = Call(functions_, "example.scale", given, 1);
    EXPECT_TRUE(absl::IsInvalidArgument(result.built)) << result.built;
    return ErrorText(result.built);
  };
  EXPECT_THAT(built({x}), HasSubstr("example.scale takes 2 arguments, not 1"));
  EXPECT_THAT(built({x, x}), HasSubstr("argument 2 is a constant"));
  EXPECT_THAT(built({Of(BytesColumn({}, {"a"})), LiteralOf({1.0})}),
              HasSubstr("the first argument is float32 or float64"));
}

TEST_F(OpPlugins, BadDataNamesItsRow) {
  GivenPlugin(FEEDMILL_EXAMPLE_OP_PLUGIN);
  const auto numbers = [](std::vector<int64_t> items) {
    return Of(ColumnOf<int64_t>(DType::kInt64, {}, items));
  };
  const CallResult result = Call(functions_, "example.ratio",
                                 {numbers({1, 2, 3}), numbers({2, 0, 0})}, 3);
  EXPECT_TRUE(absl::IsDataLoss(result.computed)) << result.computed;
  EXPECT_EQ(ErrorText(result.computed), "example.ratio: the divisor is 0");
  EXPECT_EQ(result.failed_row, 1U);
}

TEST_F(OpPlugins, ABrokenPluginIsAnErrorAndNoCrash) {
  GivenPlugin(FEEDMILL_ODD_PLUGIN);
  const auto said = [&](const std::string& function) {
    const CallResult result =
        Call(functions_, function,
             {Of(ColumnOf<int64_t>(DType::kInt64, {}, {1, 2}))}, 2);
    const absl::Status status =
        result.built.ok() ? result.computed : result.built;
    EXPECT_TRUE(absl::IsInternal(status)) << function << status;
    EXPECT_THAT(ErrorText(status), HasSubstr(function + " of the plugin odd"));
    return ErrorText(status);
  };
  EXPECT_THAT(said("odd.throws"), HasSubstr("exception"));
  EXPECT_THAT(said("odd.fails"), HasSubstr("no reason"));
  EXPECT_THAT(said("odd.nothing"), HasSubstr("too few rows"));
  EXPECT_THAT(said("odd.too_few"), HasSubstr("too few items"));
  EXPECT_THAT(said("odd.negative"), HasSubstr("another shape"));
  EXPECT_THAT(said("odd.nonsense"), HasSubstr("99 is no dtype"));
}

TEST_F(OpPlugins, RefusesWhatIsNoPluginWithTheReason) {
  const auto status = AddOpPlugin("/no/such.so", &functions_);
  EXPECT_THAT(ErrorText(status), HasSubstr("cannot load the plugin /no/such"));
  EXPECT_THAT(ErrorText(AddOpPlugin(FEEDMILL_NO_PLUGIN, &functions_)),
              HasSubstr("it has no feedmill_op_plugin_entry"));
  EXPECT_THAT(Refusal("null"), HasSubstr("returned nothing"));
  EXPECT_THAT(Refusal("abi"),
              HasSubstr("built for version 2 of plugin.h, and this feedmill "
                        "has version 1"));
  EXPECT_THAT(Refusal("no name"), HasSubstr("its name is missing"));
  EXPECT_THAT(Refusal("bad version"), HasSubstr("its version"));
  EXPECT_THAT(Refusal("no ops"), HasSubstr("it has no ops"));
  EXPECT_THAT(Refusal("no infer"), HasSubstr("odd.throws has no infer"));
  EXPECT_THAT(Refusal("no compute"), HasSubstr("odd.throws has no compute"));
  EXPECT_THAT(Refusal("bad op name"), HasSubstr("the name of op 1"));
  EXPECT_THAT(Refusal("arity"), HasSubstr("takes 2 to 1 arguments"));
  EXPECT_THAT(Refusal("twice"),
              HasSubstr("function odd.rows already, of the plugin odd 1.0"));
  EXPECT_THAT(Refusal("built-in"),
              HasSubstr("function image.resize already, a built-in one"));
}

TEST_F(OpPlugins, ComeFromTheVariable) {
  setenv("FEEDMILL_OP_PLUGINS",
         FEEDMILL_EXAMPLE_OP_PLUGIN ":" FEEDMILL_ODD_PLUGIN, 1);
  const auto functions = DefaultFunctions();
  ASSERT_TRUE(functions.ok()) << functions.status();
  EXPECT_NE((*functions)->Find("example.scale"), nullptr);
  EXPECT_NE((*functions)->Find("odd.rows"), nullptr);
  EXPECT_NE((*functions)->Find("abs"), nullptr);
  setenv("FEEDMILL_OP_PLUGINS", "/no/such.so", 1);
  EXPECT_THAT(ErrorText(DefaultFunctions().status()),
              HasSubstr("the variable FEEDMILL_OP_PLUGINS: cannot load"));
}

TEST_F(OpPlugins, AreLoadedForTheConfigurationsOfThePublicHeaders) {
  const auto functions = LoadFunctions({FEEDMILL_EXAMPLE_OP_PLUGIN});
  ASSERT_TRUE(functions.ok()) << functions.status();
  EXPECT_NE((*functions)->Find("example.scale"), nullptr);
  EXPECT_NE((*functions)->Find("abs"), nullptr);
  EXPECT_THAT(ErrorText(LoadFunctions({FEEDMILL_EXAMPLE_OP_PLUGIN,
                                       FEEDMILL_EXAMPLE_OP_PLUGIN})
                            .status()),
              HasSubstr("function example.scale already"));
  EXPECT_THAT(ErrorText(LoadFunctions({"/no/such.so"}).status()),
              HasSubstr("/no/such.so"));
}

TEST_F(OpPlugins, AreOfOneVersionInAPipeline) {
  const auto graph = ParseGraphYaml(
      "source: {range: 4}\n"
      "steps: [map: 'odd.rows(x) + abs(odd.rows())', filter: 'x > 0']\n",
      "");
  ASSERT_TRUE(graph.ok()) << graph.status();
  const std::string unpinned = Fingerprint(*graph);
  Graph first = *graph;
  GivenPlugin(FEEDMILL_ODD_PLUGIN);
  PinPlugins(functions_, first);
  EXPECT_THAT(first.plugins,
              ElementsAre(std::pair<const std::string, std::string>(
                  "odd.rows", "odd 1.0")));
  EXPECT_TRUE(CheckPlugins(first, functions_, "a worker").ok());
  const auto back = ParseGraphJson(CanonicalText(first));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(CanonicalText(*back), CanonicalText(first));
  EXPECT_NE(Fingerprint(first), unpinned);

  absl::Status status = CheckPlugins(first, BuiltinFunctions(), "a worker");
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_EQ(ErrorText(status),
            "the pipeline calls odd.rows of the plugin odd 1.0, which a worker "
            "lacks: give it --op-plugin FILE or the variable "
            "FEEDMILL_OP_PLUGINS");

  setenv("ODD_OP_PLUGIN", "version2", 1);
  FunctionRegistry newer = BuiltinFunctions();
  ASSERT_TRUE(AddOpPlugin(FEEDMILL_ODD_PLUGIN, &newer).ok());
  status = CheckPlugins(first, newer, "the dispatcher");
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(ErrorText(status),
              HasSubstr("of the plugin odd 1.0, but the dispatcher has that of "
                        "odd 2.0"));
  Graph second = *graph;
  PinPlugins(newer, second);
  EXPECT_NE(Fingerprint(second), Fingerprint(first));
}

TEST_F(OpPlugins, CanonicalTextWithWrongPinsIsRefused) {
  const auto graph = ParseGraphYaml("source: {range: 4}\nsteps: []\n", "");
  const std::string text = CanonicalText(*graph);
  EXPECT_EQ(text.find("plugins"), text.npos);
  for (const char* pins : {"{}", "[]", "{\"a.b\": 1}", "null"}) {
    std::string wrong = text;
    wrong.insert(1, std::string("\"plugins\":") + pins + ",");
    EXPECT_FALSE(ParseGraphJson(wrong).ok()) << wrong;
  }
}

}  // namespace
}  // namespace feedmill
