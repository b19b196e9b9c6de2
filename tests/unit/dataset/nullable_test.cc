#include "core/dataset/nullable.h"

#include <gtest/gtest.h>

#include <string>

#include "core/base/status.h"
#include "core/chunk/validity.h"

namespace feedmill {
namespace {

absl::StatusOr<NullableExpr> Split(const Expr& expr) {
  const ElementSpec spec{
      {{"n", DType::kInt64, {}}, {ValidityName("n"), DType::kBool, {}}}};
  return SplitNulls(expr, spec, FunctionRegistry());
}

TEST(SplitNulls, LeavesLongChainsOfAndOrAndNotShort) {
  Expr all = Expr::Named("n") != 0;
  for (int k = 1; k < 50; ++k) {
    const Expr next = Expr::Named("n") != k;
    all = k % 3 == 0 ? all || next : k % 3 == 1 ? all && next : !all && next;
  }
  const auto split = Split(all);
  ASSERT_TRUE(split.ok()) << split.status();
  EXPECT_LT(split->value.nodes(), 8 * all.nodes());
  EXPECT_LT(split->valid->nodes(), 16 * all.nodes());
}

TEST(SplitNulls, RefusesAnExpressionThatGetsTooLarge) {
  Expr all = Expr::Named("n") != 0;
  for (int k = 1; k < 40; ++k) {
    all = (all && Expr::Named("n") != k) == (Expr::Named("n") > k);
  }
  const absl::Status status = Split(all).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(ErrorText(status).find("several with_columns"), std::string::npos)
      << status;
}

}  // namespace
}  // namespace feedmill
