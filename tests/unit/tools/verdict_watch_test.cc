#include "tools/command/verdict_watch.h"

#include <gtest/gtest.h>

namespace feedmill {
namespace {

TEST(VerdictOf, BelongsToTheJob) {
  const std::string status =
      R"({"jobs":[{"name":"a","verdict":{"bound_by":"step","sentence":"x"}},)"
      R"({"name":"b","verdict":{"bound_by":"none","sentence":"y"}},)"
      R"({"name":"c"}]})";
  EXPECT_EQ(VerdictOf(status, "a"), "x");
  EXPECT_EQ(VerdictOf(status, "b"), "");
  EXPECT_EQ(VerdictOf(status, "c"), "");
  EXPECT_EQ(VerdictOf(status, "d"), "");
  EXPECT_EQ(VerdictOf("[", "a"), "");
}

}  // namespace
}  // namespace feedmill
