#include "feedmill/expr.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "core/base/status.h"
#include "core/dataset/nearest_name.h"
#include "core/dataset/type_inference.h"
#include "tests/unit/dataset/fake_functions.h"

namespace feedmill {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string Canonical(const std::string& text) {
  const auto expr = Expr::Parse(text);
  return expr.ok() ? expr->ToString() : ErrorText(expr.status());
}

std::string ParseError(const std::string& text) {
  const auto expr = Expr::Parse(text);
  return expr.ok() ? "no error: " + expr->ToString() : ErrorText(expr.status());
}

template <class T>
T LiteralOf(const std::string& text) {
  const auto expr = Expr::Parse(text);
  EXPECT_TRUE(expr.ok()) << ErrorText(expr.status());
  const auto& literal = std::get<Expr::Literal>(expr->node());
  EXPECT_TRUE(std::holds_alternative<T>(literal.value)) << text;
  return std::get<T>(literal.value);
}

TEST(ExprTest, HasPythonsPrecedence) {
  EXPECT_EQ(Canonical("a + b * c"), "(a + (b * c))");
  EXPECT_EQ(Canonical("a - b - c"), "((a - b) - c)");
  EXPECT_EQ(Canonical("a ** b ** c"), "(a ** (b ** c))");
  EXPECT_EQ(Canonical("-a ** -b"), "(-(a ** (-b)))");
  EXPECT_EQ(Canonical("a | b ^ c & d << e + f"),
            "(a | (b ^ (c & (d << (e + f)))))");
  EXPECT_EQ(Canonical("not a == b and c or d"),
            "(((not (a == b)) and c) or d)");
  EXPECT_EQ(Canonical("a or b and not c"), "(a or (b and (not c)))");
  EXPECT_EQ(Canonical("a | b == c"), "((a | b) == c)");
  EXPECT_EQ(Canonical("~a[1] // 2 % 3"), "(((~a[1]) // 2) % 3)");
  EXPECT_EQ(Canonical("not not a"), "(not (not a))");
  EXPECT_EQ(Canonical("2 ** -1"), "(2 ** (-1))");
  EXPECT_EQ(Canonical("- - a"), "(-(-a))");
}

TEST(ExprTest, ChainsComparisons) {
  EXPECT_EQ(Canonical("0 <= x < 10"), "((0 <= x) and (x < 10))");
  EXPECT_EQ(Canonical("a < b == c != d"),
            "(((a < b) and (b == c)) and (c != d))");
}

TEST(ExprTest, ReadsCallsListsAndIndexes) {
  EXPECT_EQ(Canonical("where(x>0,x,-x,)"), "where((x > 0), x, (-x))");
  EXPECT_EQ(Canonical("full([2, 3], 0)"), "full([2, 3], 0)");
  EXPECT_EQ(Canonical("image.resize(x, 2)"), "image.resize(x, 2)");
  EXPECT_EQ(Canonical("add(x, 1)"), "(x + 1)");
  EXPECT_EQ(Canonical("(x + 1)[-1][0]"), "(x + 1)[-1][0]");
  EXPECT_EQ(Canonical("component('image/encoded')"),
            "component('image/encoded')");
  EXPECT_EQ(Canonical("x\n + 1"), "(x + 1)");
}

TEST(ExprTest, ReadsSlices) {
  EXPECT_EQ(Canonical("x[1:]"), "x[1:]");
  EXPECT_EQ(Canonical("x[0:a:1]"), "x[:a]");
  EXPECT_EQ(Canonical("x[a+1 : -2 : 3]"), "x[(a + 1):-2:3]");
  EXPECT_EQ(Canonical("x[::-1]"), "x[::-1]");
  EXPECT_EQ(Canonical("x[0::-1]"), "x[0::-1]");
  EXPECT_EQ(Canonical("x[:]"), "x[:]");
  EXPECT_EQ(Canonical("x[:, :]"), "x[:]");
  EXPECT_EQ(Canonical("x[1, 2]"), "x[1][2]");
  EXPECT_EQ(Canonical("x[:, 1]"), "x[:, 1]");
  EXPECT_EQ(Canonical("x[1, :, 2:3, 4]"), "x[1][:, 2:3][:, :, 4]");
  EXPECT_EQ(Canonical("x[..., 1, :, 2:3]"), "x[..., 2:3][..., 1, :, :]");
  EXPECT_EQ(Canonical("x[1:, ...]"), "x[1:]");
  EXPECT_EQ(Canonical("x[:5][2]"), "x[:5][2]");
  EXPECT_EQ(Canonical("(-x)[:5] @ y"), "((-x)[:5] @ y)");
  EXPECT_EQ(Canonical("getslice(x, 1, 2, 1, 0)"), "x[1:2]");
  EXPECT_EQ(Canonical("getslice(x, 1, 2, y, 0)"), "getslice(x, 1, 2, y, 0)");
  EXPECT_EQ(Canonical("getitem(x, 1, 0)"), "getitem(x, 1, 0)");
}

TEST(ExprTest, ReadsNumbers) {
  EXPECT_EQ(LiteralOf<int64_t>("1_000"), 1000);
  EXPECT_EQ(LiteralOf<int64_t>("0xfF"), 255);
  EXPECT_EQ(LiteralOf<int64_t>("0b11"), 3);
  EXPECT_EQ(LiteralOf<int64_t>("0o17"), 15);
  EXPECT_EQ(LiteralOf<int64_t>("-5"), -5);
  EXPECT_EQ(LiteralOf<int64_t>("-9223372036854775808"), INT64_MIN);
  EXPECT_EQ(LiteralOf<uint64_t>("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(LiteralOf<uint64_t>("--9223372036854775808"), uint64_t{1} << 63);
  EXPECT_EQ(LiteralOf<double>("1."), 1.0);
  EXPECT_EQ(LiteralOf<double>(".5e-3"), 0.0005);
  EXPECT_EQ(LiteralOf<double>("1e400"), HUGE_VAL);
  EXPECT_TRUE(std::signbit(LiteralOf<double>("-0.0")));
  EXPECT_EQ(LiteralOf<bool>("True"), true);
}

TEST(ExprTest, ReadsStringsWithPythonsEscapes) {
  EXPECT_EQ(LiteralOf<std::string>(R"('a\n\t\\\'\x41\101\0')"),
            std::string("a\n\t\\'AA\0", 8));
  EXPECT_EQ(LiteralOf<std::string>(R"(b"it's")"), "it's");
  EXPECT_EQ(LiteralOf<std::string>(R"(r'\n')"), "\\n");
  EXPECT_EQ(LiteralOf<std::string>("'größe'"), "größe");
  EXPECT_EQ(Canonical("'größe'"), R"('gr\xc3\xb6\xc3\x9fe')");
}

TEST(ExprTest, CanonicalTextIsReadBackEqual) {
  for (const Expr& expr :
       {Expr::Named("x") * 2.5 - Expr::Named("größe"), Expr(1e300) < Expr(-0.0),
        Expr::Apply("negative", {Expr(5)}), Expr::Named("True"),
        Expr(HUGE_VAL) + Expr(-HUGE_VAL), -Expr(std::nan("")),
        Expr::Apply("add", {Expr(1), Expr(2), Expr(3)}),
        Expr::Apply("list", {}), !Expr(true), -Expr(-3), !Expr::Named("a/b"),
        Expr::Apply("getitem", {Expr("q'\"\\"), Expr(-1)}), Expr(1.0),
        Expr::Apply("getitem", {Expr::Named("x"), Expr(1), Expr(-3)}),
        Expr::Apply("getitem", {Expr::Named("x"), Expr(1), Expr(99)}),
        Expr::Apply("getslice", {Expr::Named("x"), Expr(INT64_MIN),
                                 Expr(INT64_MAX), Expr(-1), Expr(-2)}),
        Expr::Apply("getslice",
                    {-Expr::Named("x"), Expr(0), Expr(0), Expr(0), Expr(0)}),
        Expr(Expr::Literal{uint64_t{1} << 63})}) {
    const auto again = Expr::Parse(expr.ToString());
    ASSERT_TRUE(again.ok()) << ErrorText(again.status());
    EXPECT_EQ(again->ToString(), expr.ToString());
  }
}

TEST(ExprTest, ErrorsNameTheColumnAndTheWayOut) {
  EXPECT_EQ(ParseError("x +"),
            "cannot read the expression \"x +\", column 4: expected a value, "
            "found the end");
  const std::pair<const char*, const char*> cases[] = {
      {"", "column 1: expected a value"},
      {"(x + 1", "column 7: expected \")\" for the ( in column 1"},
      {"f(x y)", "column 5: expected \",\" or \")\""},
      {"x = 3", "column 3: expected an operator, found \"=\"; to compare"},
      {"x && y", "write and for &&"},
      {"x || y", "write or for ||"},
      {"!x", "write not for !"},
      {"x <> y", "write != for <>"},
      {"a if b else c", "where(condition, a, b)"},
      {"x in y", "write isin(a, [b, c]) for a in [b, c], and contains("},
      {"x is y", "\"is\" is not available"},
      {"x[1:2:y]", "the step of a slice is an integer constant, and not 0"},
      {"x[::0]", "the step of a slice is an integer constant, and not 0"},
      {"x[..., 1, ...]", "column 11: a second \"...\""},
      {"x[1:2", "column 6: expected ] for the [ in column 2"},
      {"x[]", "expected a value, found \"]\""},
      {"x.shape", "expected \"(\" after it"},
      {"f(a=1)", "arguments have no names"},
      {"12x", "\"12x\" is not a number"},
      {"1j", "\"1j\" is not a number"},
      {"007", "must not begin with 0"},
      {"18446744073709551616", "does not fit 64 bits"},
      {"-9223372036854775809", "does not fit int64"},
      {"1e", "an exponent without digits"},
      {"0x", "a number without digits"},
      {"'abc", "column 1: the string is not closed"},
      {R"('\q')", "no escape \\q"},
      {R"('\x4')", "two hexadecimal digits"},
      {"f'x'", "no f-strings"},
      {"x)", "\")\" closes nothing"},
      {"lambda: x", "expected a value, found \"lambda\""},
      {"x == not y", "put parentheses around not"},
      {"(1, 2)", "tuples are not available"},
      {"x $ y", "found \"$\""},
      {"component(x)", "component takes a name in quotes"},
  };
  for (const auto& [text, what] : cases) {
    EXPECT_THAT(ParseError(text), HasSubstr(what)) << text;
  }
}

TEST(ExprTest, IsBoundedInDepthLengthAndTerms) {
  EXPECT_THAT(ParseError(std::string(100'000, '(')), HasSubstr("too deeply"));
  EXPECT_THAT(ParseError(std::string(100'000, '-')), HasSubstr("too deeply"));
  std::string nots;
  for (int i = 0; i < 20'000; ++i) nots += "not ";
  EXPECT_THAT(ParseError(nots + "x"), HasSubstr("too deeply"));
  std::string sum = "x";
  for (int i = 0; i < 1000; ++i) sum += "+x";
  EXPECT_THAT(ParseError(sum), HasSubstr("nested deeper than 200"));
  EXPECT_THAT(ParseError(std::string(Expr::kTextMax + 1, 'x')),
              HasSubstr("too long"));
  // Each level of a chain contains its middle twice.
  std::string chain = "x";
  for (int i = 0; i < 30; ++i) chain = "1<(" + chain + ")<2";
  EXPECT_THAT(ParseError(chain), HasSubstr("more than 10000 terms"));
  // A long name counts as many terms.
  const std::string name(600'000, 'n');
  EXPECT_THAT(ParseError("0 < " + name + " < 1"), HasSubstr("10000 terms"));
}

TEST(ExprTest, AnExpressionMadeTooLargeHasAShortTextThatIsRefused) {
  Expr x = Expr::Named("x");
  for (int i = 0; i < 100; ++i) x = x * x;
  EXPECT_EQ(x.nodes(), SIZE_MAX);
  EXPECT_LT(x.ToString().size(), 100u);
  EXPECT_FALSE(Expr::Parse(x.ToString()).ok());
  EXPECT_THAT(ErrorText(InferType(x, {{{"", DType::kInt64, {}}}},
                                  testing::FakeFunctions())
                            .status()),
              HasSubstr("split it"));
}

TEST(ExprTest, TheDeepestAllowedOneIsReadBack) {
  Expr x = Expr::Named("x");
  while (x.height() < Expr::kHeightMax) x = -x;
  const auto again = Expr::Parse(x.ToString());
  ASSERT_TRUE(again.ok()) << ErrorText(again.status());
  EXPECT_EQ(again->ToString(), x.ToString());
}

// ---- names and types

TEST(NearestNameTest, FindsMisspellingsOnly) {
  EXPECT_EQ(NearestName("bacth", {"map", "batch", "take"}), "batch");
  EXPECT_EQ(NearestName("Shuffle", {"shuffle"}), "shuffle");
  EXPECT_EQ(NearestName("decodeimage", {"decode_image"}), "decode_image");
  EXPECT_EQ(NearestName("frobnicate", {"map", "batch"}), "");
  EXPECT_EQ(NearestName("y", {"x"}), "");
  EXPECT_EQ(NearestName("", {"x"}), "");
  EXPECT_EQ(NearestName(std::string(10'000, 'a'), {"a"}), "");
}

absl::StatusOr<ValueType> TypeOf(const std::string& text,
                                 const ElementSpec& spec) {
  return InferType(*Expr::Parse(text), spec, testing::FakeFunctions());
}

const ElementSpec kUnnamed = {{{"", DType::kInt64, {kUnknownDim}}}};
const ElementSpec kPhoto = {
    {{"image", DType::kBytes, {}}, {"label", DType::kInt64, {}}}};

TEST(InferTypeTest, WalksComponentsLiteralsAndCalls) {
  const auto type = TypeOf("x % 3 != 0", kUnnamed);
  ASSERT_TRUE(type.ok()) << ErrorText(type.status());
  EXPECT_EQ(type->dtype, DType::kBool);
  EXPECT_EQ(type->shape, Shape{kUnknownDim});
  const auto literal = TypeOf("2.5", kUnnamed);
  EXPECT_EQ(literal->dtype, DType::kFloat64);
  EXPECT_TRUE(literal->weak);
  EXPECT_TRUE(literal->literal.has_value());
  EXPECT_FALSE(TypeOf("'a'", kUnnamed)->weak);
  EXPECT_EQ(TypeOf("cast(label, float32)", kPhoto)->dtype, DType::kFloat32);
}

TEST(InferTypeTest, ErrorsNameWhatThereIs) {
  const auto error = [](const std::string& text, const ElementSpec& spec) {
    return ErrorText(TypeOf(text, spec).status());
  };
  EXPECT_THAT(
      error("lable + 1", kPhoto),
      AllOf(HasSubstr("no component \"lable\"; did you mean \"label\"?"),
            HasSubstr("{image: bytes, label: int64}")));
  EXPECT_THAT(error("y", kUnnamed), HasSubstr("written x"));
  EXPECT_THAT(error("x", kPhoto), HasSubstr("no component \"x\""));
  EXPECT_THAT(error("true", kPhoto), HasSubstr("\"true\" is written True"));
  EXPECT_THAT(
      error("multiplx(label, 2)", kPhoto),
      HasSubstr("no function \"multiplx\"; did you mean \"multiply\"?"));
  EXPECT_THAT(error("1 + (image + 2)", kPhoto),
              HasSubstr("in \"(image + 2)\": bytes are no numbers"));
}

}  // namespace
}  // namespace feedmill
