// Cases beyond NumPy's table: ragged columns, bytes, constants, names.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/ops/builtin_functions.h"
#include "tests/unit/ops/column_fixture.h"

namespace feedmill::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FunctionsTest : public ::testing::Test {
 protected:
  CallResult Run(std::string_view function,
                 const std::vector<CallArgument>& arguments, size_t rows) {
    return Call(registry_, function, arguments, rows);
  }

  FunctionRegistry registry_ = BuiltinFunctions();
  const Column ragged_ = RaggedColumn<int32_t>(
      DType::kInt32, 1, {{{2}, {1, 2}}, {{0}, {}}, {{3}, {3, 4, 5}}});
};

TEST_F(FunctionsTest, RaggedWithLiteralKeepsItsShapes) {
  const CallResult r =
      Run("multiply", {Of(ragged_), LiteralOf({int64_t{3}})}, 3);
  ASSERT_TRUE(r.computed.ok()) << r.computed;
  EXPECT_THAT(Items<int32_t>(r.column), ElementsAre(3, 6, 9, 12, 15));
  ASSERT_TRUE(r.column.ragged());
  EXPECT_EQ(r.column.RowShape(2), (Shape{3}));
  EXPECT_EQ(r.column.RowItems(1), 0);
}

TEST_F(FunctionsTest, RaggedSliceStartsInTheMiddle) {
  Chunk chunk;
  chunk.rows = 3;
  chunk.spec = std::make_shared<ElementSpec>(
      ElementSpec{{{"", DType::kInt32, {kUnknownDim}}}});
  chunk.columns = {ragged_};
  const Chunk tail = chunk.Slice(1, 3);
  const CallResult r = Run("negative", {Of(tail.columns[0])}, 2);
  ASSERT_TRUE(r.computed.ok()) << r.computed;
  EXPECT_THAT(Items<int32_t>(r.column), ElementsAre(-3, -4, -5));
  EXPECT_EQ(r.column.RowStart(1), 0);
  EXPECT_EQ(r.column.RowItems(1), 3);
}

TEST_F(FunctionsTest, RaggedWithRaggedOfTheSameShapes) {
  const CallResult r = Run("add", {Of(ragged_), Of(ragged_)}, 3);
  ASSERT_TRUE(r.computed.ok()) << r.computed;
  EXPECT_THAT(Items<int32_t>(r.column), ElementsAre(2, 4, 6, 8, 10));
}

TEST_F(FunctionsTest, RaggedWithOneScalarARow) {
  const Column scalars = ColumnOf<int64_t>(DType::kInt64, {}, {10, 20, 30});
  const CallResult r = Run("subtract", {Of(scalars), Of(ragged_)}, 3);
  ASSERT_TRUE(r.computed.ok()) << r.computed;
  EXPECT_THAT(Items<int64_t>(r.column), ElementsAre(9, 8, 27, 26, 25));
  EXPECT_EQ(r.column.RowShape(2), (Shape{3}));
}

TEST_F(FunctionsTest, RaggedWithAnotherRank) {
  const Column planes =
      ColumnOf<int32_t>(DType::kInt32, {2, 1}, {10, 20, 10, 20, 10, 20});
  const CallResult r = Run("add", {Of(ragged_), Of(planes)}, 3);
  ASSERT_TRUE(r.computed.ok()) << r.computed;
  EXPECT_THAT(Items<int32_t>(r.column),
              ElementsAre(11, 12, 21, 22, 13, 14, 15, 23, 24, 25));
  EXPECT_EQ(r.column.RowShape(0), (Shape{2, 2}));
  EXPECT_EQ(r.column.RowShape(1), (Shape{2, 0}));
  EXPECT_EQ(r.column.RowShape(2), (Shape{2, 3}));
}

TEST_F(FunctionsTest, RaggedRowsThatDoNotBroadcastNameTheRow) {
  const Column other = RaggedColumn<int32_t>(
      DType::kInt32, 1, {{{1}, {7}}, {{0}, {}}, {{2}, {8, 9}}});
  const CallResult r = Run("add", {Of(ragged_), Of(other)}, 3);
  EXPECT_TRUE(absl::IsDataLoss(r.computed));
  EXPECT_EQ(r.failed_row, 2U);
  EXPECT_TRUE(Run("add", {Of(ragged_), Of(other)}, 2).computed.ok());
}

TEST_F(FunctionsTest, RaggedDivisionByZeroNamesTheRow) {
  const CallResult r =
      Run("floor_divide",
          {LiteralOf({int64_t{3}}),
           Of(RaggedColumn<int32_t>(
               DType::kInt32, 1, {{{2}, {1, 2}}, {{0}, {}}, {{2}, {1, 0}}}))},
          3);
  EXPECT_TRUE(absl::IsDataLoss(r.computed));
  EXPECT_EQ(r.failed_row, 2U);
}

TEST_F(FunctionsTest, UnknownDimThatMustBeKnownGivesUniformRows) {
  const Column known = ColumnOf<int32_t>(DType::kInt32, {2}, {10, 20, 30, 40});
  const Column ones =
      RaggedColumn<int32_t>(DType::kInt32, 1, {{{1}, {1}}, {{2}, {2, 3}}});
  const CallResult r = Run("add", {Of(ones), Of(known)}, 2);
  ASSERT_TRUE(r.computed.ok()) << r.computed;
  EXPECT_FALSE(r.column.ragged());
  EXPECT_EQ(r.column.shape, (Shape{2}));
  EXPECT_THAT(Items<int32_t>(r.column), ElementsAre(11, 21, 32, 43));
}

TEST_F(FunctionsTest, ReductionsOfRaggedRows) {
  EXPECT_THAT(Items<int64_t>(Run("sum", {Of(ragged_)}, 3).column),
              ElementsAre(3, 0, 12));
  const CallResult least = Run("min", {Of(ragged_)}, 3);
  EXPECT_TRUE(absl::IsDataLoss(least.computed));
  EXPECT_EQ(least.failed_row, 1U);
}

TEST_F(FunctionsTest, IndexingRaggedRows) {
  const Column rows = RaggedColumn<int32_t>(
      DType::kInt32, 2,
      {{{2, 2}, {1, 2, 3, 4}}, {{1, 3}, {5, 6, 7}}, {{1, 0}, {}}});
  const CallResult last =
      Run("getitem", {Of(rows), LiteralOf({int64_t{-1}})}, 3);
  ASSERT_TRUE(last.computed.ok()) << last.computed;
  EXPECT_THAT(Items<int32_t>(last.column), ElementsAre(3, 4, 5, 6, 7));
  EXPECT_EQ(last.column.RowShape(1), (Shape{3}));
  const CallResult second =
      Run("getitem", {Of(rows), LiteralOf({int64_t{1}})}, 3);
  EXPECT_TRUE(absl::IsDataLoss(second.computed));
  EXPECT_EQ(second.failed_row, 1U);

  const CallResult scalar =
      Run("getitem", {Of(ragged_), LiteralOf({int64_t{0}})}, 1);
  EXPECT_FALSE(scalar.column.ragged());
  EXPECT_THAT(Items<int32_t>(scalar.column), ElementsAre(1));
}

// ---- bytes

TEST_F(FunctionsTest, BytesCompareBytewise) {
  const Column words = BytesColumn({}, {"a", "b", "", "\xff", "ab"});
  const auto b = LiteralOf({std::string("b")});
  EXPECT_THAT(Items<uint8_t>(Run("less", {Of(words), b}, 5).column),
              ElementsAre(1, 0, 1, 0, 1));
  EXPECT_THAT(Items<uint8_t>(Run("equal", {b, Of(words)}, 5).column),
              ElementsAre(0, 1, 0, 0, 0));
  EXPECT_THAT(
      Items<uint8_t>(Run("greater_equal", {Of(words), Of(words)}, 5).column),
      ElementsAre(1, 1, 1, 1, 1));
  EXPECT_TRUE(absl::IsInvalidArgument(
      Run("equal", {Of(words), LiteralOf({int64_t{1}})}, 5).built));
}

TEST_F(FunctionsTest, LengthAndCase) {
  const Column words = BytesColumn({2}, {"Az[", "`{", "", "\xc3\x84Q"});
  const CallResult length = Run("length", {Of(words)}, 2);
  EXPECT_THAT(Items<int64_t>(length.column), ElementsAre(3, 2, 0, 3));
  EXPECT_EQ(length.column.shape, (Shape{2}));
  EXPECT_THAT(Strings(Run("lower", {Of(words)}, 2).column),
              ElementsAre("az[", "`{", "", "\xc3\x84q"));
  EXPECT_THAT(Strings(Run("upper", {Of(words)}, 2).column),
              ElementsAre("AZ[", "`{", "", "\xc3\x84Q"));
  EXPECT_TRUE(absl::IsInvalidArgument(
      Run("length", {LiteralOf({int64_t{1}})}, 1).built));
}

TEST_F(FunctionsTest, TheFunctionWhereSelectsBytes) {
  const Column which = ColumnOf<uint8_t>(DType::kBool, {}, {1, 0});
  const Column pairs = BytesColumn({2}, {"a", "b", "c", "d"});
  const CallResult r =
      Run("where", {Of(which), Of(pairs), LiteralOf({std::string("-")})}, 2);
  ASSERT_TRUE(r.computed.ok()) << r.computed;
  EXPECT_THAT(Strings(r.column), ElementsAre("a", "b", "-", "-"));
  EXPECT_EQ(r.column.shape, (Shape{2}));
}

TEST_F(FunctionsTest, IndexingBytes) {
  const Column pairs = BytesColumn({2}, {"a", "bb", "", "d"});
  EXPECT_THAT(
      Strings(Run("getitem", {Of(pairs), LiteralOf({int64_t{1}})}, 2).column),
      ElementsAre("bb", "d"));
}

TEST_F(FunctionsTest, NoRowsOfBytes) {
  const CallResult r = Run("lower", {Of(BytesColumn({}, {}))}, 0);
  ASSERT_TRUE(r.computed.ok());
  EXPECT_THAT(Strings(r.column), IsEmpty());
}

TEST_F(FunctionsTest, BytesAreNoNumbers) {
  const Column words = BytesColumn({}, {"a"});
  for (const char* name : {"add", "minimum", "bitwise_and", "logical_and"}) {
    EXPECT_TRUE(
        absl::IsInvalidArgument(Run(name, {Of(words), Of(words)}, 1).built))
        << name;
  }
  for (const char* name : {"negative", "sum", "any", "sqrt", "logical_not"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(Run(name, {Of(words)}, 1).built))
        << name;
  }
}

// ---- constants

TEST_F(FunctionsTest, OperatorsBetweenLiteralsArePythons) {
  const auto fold = [&](const char* name, std::vector<Expr::Literal> literals) {
    std::vector<CallArgument> arguments;
    for (auto& literal : literals) arguments.push_back(LiteralOf(literal));
    return Run(name, arguments, 1);
  };
  EXPECT_THAT(Items<int64_t>(fold("negative", {{int64_t{5}}}).column),
              ElementsAre(-5));
  EXPECT_THAT(Items<int64_t>(fold("add", {{true}, {true}}).column),
              ElementsAre(2));
  EXPECT_THAT(
      Items<double>(fold("divide", {{int64_t{1}}, {int64_t{2}}}).column),
      ElementsAre(0.5));
  EXPECT_THAT(Items<int64_t>(
                  fold("floor_divide", {{int64_t{-7}}, {int64_t{2}}}).column),
              ElementsAre(-4));
  EXPECT_THAT(
      Items<int64_t>(fold("remainder", {{int64_t{-7}}, {int64_t{2}}}).column),
      ElementsAre(1));
  EXPECT_THAT(
      Items<uint64_t>(fold("power", {{int64_t{2}}, {int64_t{63}}}).column),
      ElementsAre(uint64_t{1} << 63));
  EXPECT_THAT(
      Items<double>(fold("power", {{int64_t{2}}, {int64_t{-1}}}).column),
      ElementsAre(0.5));
  EXPECT_TRUE(fold("add", {{int64_t{1}}, {2.0}}).type.weak);
  for (const auto& bad : {fold("power", {{int64_t{2}}, {int64_t{64}}}),
                          fold("divide", {{int64_t{2}}, {int64_t{0}}}),
                          fold("left_shift", {{int64_t{1}}, {int64_t{64}}}),
                          fold("left_shift", {{int64_t{1}}, {int64_t{-1}}}),
                          fold("negative", {{~uint64_t{0}}}),
                          fold("multiply", {{~uint64_t{0}}, {~uint64_t{0}}})}) {
    EXPECT_TRUE(absl::IsInvalidArgument(bad.built));
  }
}

TEST_F(FunctionsTest, ConstantsStandForAllRows) {
  const CallResult r =
      Run("minimum", {LiteralOf({int64_t{4}}), LiteralOf({int64_t{2}})}, 3);
  EXPECT_THAT(Items<int64_t>(r.column), ElementsAre(2, 2, 2));
  EXPECT_FALSE(r.type.weak);
  const Column row = ColumnOf<float>(DType::kFloat32, {2}, {1, 3});
  EXPECT_THAT(Items<float>(Run("sum", {Constant(row)}, 2).column),
              ElementsAre(4, 4));
}

TEST_F(FunctionsTest, FullTakesAListAndAScalar) {
  CallArgument list = Of(Column{});
  list.type.list = Shape{2, 2};
  const Column x = ColumnOf<uint8_t>(DType::kUInt8, {}, {7, 9});
  const CallResult r = Run("full", {list, Of(x)}, 2);
  ASSERT_TRUE(r.computed.ok()) << r.built << r.computed;
  EXPECT_EQ(r.column.shape, (Shape{2, 2}));
  EXPECT_THAT(Items<uint8_t>(r.column), ElementsAre(7, 7, 7, 7, 9, 9, 9, 9));
  const CallResult zeros =
      Run("full", {LiteralOf({int64_t{3}}), LiteralOf({0.0})}, 2);
  EXPECT_THAT(Items<double>(zeros.column), ElementsAre(0, 0, 0, 0, 0, 0));
  EXPECT_TRUE(absl::IsInvalidArgument(
      Run("full", {LiteralOf({int64_t{-3}}), LiteralOf({0.0})}, 2).built));
  EXPECT_TRUE(absl::IsInvalidArgument(
      Run("full", {LiteralOf({int64_t{1} << 40}), LiteralOf({0.0})}, 2).built));
}

template <class T>
void ExpectFull(const FunctionRegistry& registry, DType dtype, int64_t items) {
  constexpr size_t kRows = 5;
  std::vector<T> values;
  std::vector<T> expected;
  for (size_t row = 0; row < kRows; ++row) {
    values.push_back(static_cast<T>(0x1122334455667788 * (row + 1)));
    expected.insert(expected.end(), static_cast<size_t>(items), values.back());
  }
  const CallResult r =
      Call(registry, "full",
           {LiteralOf({items}), Of(ColumnOf<T>(dtype, {}, values))}, kRows);
  ASSERT_TRUE(r.computed.ok()) << r.built << r.computed;
  EXPECT_TRUE(Items<T>(r.column) == expected)
      << items << " items of " << sizeof(T) << " bytes";
}

TEST_F(FunctionsTest, FullFillsRowsOfAnySize) {
  for (const int64_t items :
       {0, 1, 2, 3, 7, 8, 15, 16, 17, 33, 100, 1023, 1024, 65'537}) {
    ExpectFull<uint8_t>(registry_, DType::kUInt8, items);
    ExpectFull<uint16_t>(registry_, DType::kUInt16, items);
    ExpectFull<uint32_t>(registry_, DType::kUInt32, items);
    ExpectFull<uint64_t>(registry_, DType::kUInt64, items);
  }
}

TEST_F(FunctionsTest, ListsOfIntegersAreConstants) {
  const CallResult r =
      Run("list", {LiteralOf({int64_t{3}}), LiteralOf({int64_t{4}})}, 2);
  ASSERT_TRUE(r.built.ok()) << r.built;
  EXPECT_EQ(*r.type.list, (Shape{3, 4}));
  EXPECT_THAT(Items<int64_t>(r.column), ElementsAre(3, 4, 3, 4));
  EXPECT_FALSE(Run("list", {LiteralOf({1.5})}, 1).type.list.has_value());
  EXPECT_TRUE(absl::IsInvalidArgument(
      Run("list", {LiteralOf({1.5}), LiteralOf({std::string("a")})}, 1).built));
}

TEST_F(FunctionsTest, MessagesSayWhatToWrite) {
  const Column x = ColumnOf<uint8_t>(DType::kUInt8, {}, {7});
  EXPECT_THAT(
      ErrorText(Run("add", {Of(x), LiteralOf({int64_t{300}})}, 1).built),
      HasSubstr("300 does not fit uint8"));
  EXPECT_THAT(ErrorText(Run("add", {Of(x)}, 1).built),
              HasSubstr("add takes 2 arguments, not 1"));
  EXPECT_THAT(
      ErrorText(
          Run("cast", {Of(x), LiteralOf({std::string("flaot32")})}, 1).built),
      HasSubstr("cast(x, float32)"));
  EXPECT_THAT(
      ErrorText(Run("getitem", {Of(x), LiteralOf({int64_t{0}})}, 1).built),
      HasSubstr("cannot be indexed"));
}

TEST_F(FunctionsTest, NamesAreSortedAndFound) {
  const std::vector<std::string_view> names = registry_.Names();
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_THAT(names, ::testing::IsSupersetOf({"add", "image.resize"}));
  for (const std::string_view name : names) {
    EXPECT_NE(registry_.Find(name), nullptr) << name;
  }
}

TEST_F(FunctionsTest, AreAllDescribed) {
  std::set<std::string_view> described;
  for (const FunctionDescription& one : registry_.descriptions()) {
    EXPECT_FALSE(one.written.empty() || one.notes.empty()) << one.names[0];
    described.insert(one.names.begin(), one.names.end());
  }
  const std::vector<std::string_view> names = registry_.Names();
  EXPECT_EQ(described, std::set(names.begin(), names.end()));
}

TEST_F(FunctionsTest, HelpIsPlainText) {
  EXPECT_EQ(registry_.HelpOf("strip"),
            "strip(s) lstrip(s) rstrip(s)\n"
            "ASCII white space, as Python's bytes\n");
  EXPECT_THAT(registry_.HelpOf("sum"), HasSubstr("\nsum(a, axis) and so on\n"));
  EXPECT_THAT(registry_.HelpOf("parse_date"),
              HasSubstr("int64: days, seconds and so on since"));
  EXPECT_THAT(registry_.HelpOf("concat"), HasSubstr("`concat([a, b], axis)`"));
  FunctionRegistry::Function own;
  own.plugin = "example 1.0";
  registry_.Add("own", own);
  EXPECT_EQ(registry_.HelpOf("own"), "own(…)\nof the plugin example 1.0\n");
}

TEST_F(FunctionsTest, UnknownDimsStayUnknownUntilTheyMustBeKnown) {
  ValueType unknown;
  unknown.shape = {kUnknownDim, 3};
  ValueType vector;
  vector.shape = {3};
  ValueType plane;
  plane.shape = {5, 1};
  const auto& infer = registry_.Find("add")->infer;
  EXPECT_EQ(infer({unknown, vector})->shape, (Shape{kUnknownDim, 3}));
  EXPECT_EQ(infer({plane, unknown})->shape, (Shape{5, 3}));
  EXPECT_EQ(infer({unknown, unknown})->shape, (Shape{kUnknownDim, 3}));
}

}  // namespace
}  // namespace feedmill::testing
