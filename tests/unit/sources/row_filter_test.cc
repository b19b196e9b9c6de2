// Filters that a source evaluates for a whole group of rows.

#include "core/sources/row_filter.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/dataset/function_registry.h"
#include "core/definition/pipeline_text.h"
#include "core/ops/builtin_functions.h"
#include "core/sources/repeated_value.h"

namespace feedmill {
namespace {

const std::vector<SourceField> kFields = {
    {"i", DType::kInt32, {}},   {"u", DType::kUInt64, {}},
    {"f", DType::kFloat32, {}}, {"s", DType::kBytes, {}},
    {"b", DType::kBool, {}},    {"v", DType::kFloat64, {3}}};

// The filter of a csv with these fields and `steps`.
RowFilter FilterOf(const std::string& steps) {
  const auto graph = ParseGraphYaml(
      "source:\n  parquet:\n    files: /none\n    fields: {i: int32, u: "
      "uint64, "
      "f: float32, s: bytes, b: bool, v: 'float64[3]'}\nsteps:\n" +
          steps,
      "/");
  EXPECT_TRUE(graph.ok()) << graph.status();
  const auto analyzed = Analyze(*graph, BuiltinFunctions());
  EXPECT_TRUE(analyzed.ok()) << steps << analyzed.status();
  return analyzed.ok() ? RowFilter::Of(**analyzed) : RowFilter();
}

RowFilter Filter(const std::string& predicate) {
  return FilterOf("  - filter: " + predicate + "\n");
}

using Ranges = std::vector<std::optional<ValueRange>>;

template <class T>
ValueRange Range(T low, T high) {
  return {{low}, {high}};
}

// i: 10 to 20, u: 5 to 2^64 - 1, f: -0.5 to 0.25, s: "b" to "d", b: true.
Ranges Known() {
  return {Range<int64_t>(10, 20), Range<uint64_t>(5, UINT64_MAX),
          Range(-0.5, 0.25),      Range<std::string>("b", "d"),
          Range(true, true),      std::nullopt};
}

TEST(RowFilter, TellsWhetherARowMayPass) {
  struct Case {
    const char* predicate;
    bool may_pass;
  };
  for (const Case& c :
       std::initializer_list<Case>{{"i < 10", false},
                                   {"i < 11", true},
                                   {"i <= 10", true},
                                   {"i <= 9", false},
                                   {"i > 20", false},
                                   {"i > 19", true},
                                   {"i >= 20", true},
                                   {"i >= 21", false},
                                   {"i == 9", false},
                                   {"i == 10", true},
                                   {"i != 15", true},
                                   {"9 == i", false},
                                   {"9 > i", false},
                                   {"9 < i", true},
                                   {"i > -5", true},
                                   {"i < -5", false},
                                   {"u > -1", true},
                                   {"u < 5", false},
                                   {"u == 18446744073709551615", true},
                                   {"f > 0.25", false},
                                   {"f >= 0.25", true},
                                   {"f > 1", false},
                                   {"f != 0.0", true},
                                   {"s < 'b'", false},
                                   {"s == 'bz'", true},
                                   {"s > 'd'", false},
                                   {"s >= 'd'", true},
                                   {"s == ''", false},
                                   {"b == False", false},
                                   {"b != False", true},
                                   {"b == True", true},
                                   {"i > 20 and f < 1", false},
                                   {"i > 20 or f < 1", true},
                                   {"i > 20 or s > 'x'", false},
                                   {"(i > 20 or s < 'x') and u < 5", false}}) {
    const RowFilter filter = Filter(std::string("\"") + c.predicate + "\"");
    ASSERT_FALSE(filter.empty()) << c.predicate;
    EXPECT_EQ(filter.MayPass(kFields, Known()), c.may_pass) << c.predicate;
    EXPECT_TRUE(filter.MayPass(kFields, Ranges(kFields.size())))
        << c.predicate << " without ranges";
  }
}

TEST(RowFilter, RoundsLiteralsAsTheColumnDoes) {
  // 0.1 is a little less than the float32 nearest to it.
  const double nearest = 0.1F;
  Ranges ranges = Known();
  ranges[2] = Range(nearest, nearest);
  EXPECT_TRUE(Filter("f == 0.1").MayPass(kFields, ranges));
  EXPECT_FALSE(Filter("f > 0.1").MayPass(kFields, ranges));
}

TEST(RowFilter, IgnoresConditionsThatItCannotEvaluate) {
  for (const char* predicate :
       {"i % 2 == 0", "i < u", "i < 2.5", "not (i < 5)", "b", "100 // i > 2",
        "i < 5 and 100 // i > 2", "length(s) > 2", "sum(v) > 1",
        "1 < i and i * 2 < 5"}) {
    EXPECT_TRUE(Filter(predicate).empty()) << predicate;
  }
}

TEST(RowFilter, EndsAtTheFirstStepThatChangesElements) {
  const Ranges ranges = Known();
  EXPECT_FALSE(FilterOf("  - shuffle\n  - skip: 3\n  - filter: i > 20\n")
                   .MayPass(kFields, ranges));
  EXPECT_FALSE(FilterOf("  - filter: u < 9\n  - filter: i > 20\n")
                   .MayPass(kFields, ranges));
  EXPECT_TRUE(FilterOf("  - map: {i: i * 2}\n  - filter: i > 20\n").empty());
  EXPECT_TRUE(FilterOf("  - cache\n  - filter: i > 20\n").empty());
  EXPECT_TRUE(FilterOf("  - filter: i % 2 == 0\n  - filter: i > 20\n").empty());
}

TEST(RepeatedValue, IsAColumnOfEqualRows) {
  const auto text = RepeatedValue(kFields[3], &Known()[3]->low, 3);
  EXPECT_EQ(text.BytesAt(2), "b");
  const auto number = RepeatedValue(kFields[0], &Known()[0]->low, 3);
  EXPECT_EQ(number.Items<int32_t>(2)[0], 10);
  EXPECT_EQ(RepeatedValue(kFields[5], nullptr, 2).Items<double>(1).size(), 3u);
  const SourceField list{"l", DType::kBytes, {kUnknownDim}};
  EXPECT_EQ(RepeatedValue(list, nullptr, 2).RowItems(1), 0);
}

TEST(OneValue, IsTheRangeOfASingleRow) {
  const auto range = OneValue(MakeColumn(std::vector<float>{0.5F}));
  ASSERT_TRUE(range.has_value());
  EXPECT_EQ(std::get<double>(range->high.value), 0.5);
  EXPECT_FALSE(OneValue(MakeColumn(std::vector<float>{NAN})).has_value());
}

}  // namespace
}  // namespace feedmill
