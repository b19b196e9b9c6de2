#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "core/base/check.h"
#include "core/base/status.h"
#include "core/base/strong_id.h"

namespace feedmill {
namespace {

absl::StatusOr<int> Half(int value) {
  if (value % 2 != 0) return InvalidArgument("{} is odd", value);
  return value / 2;
}

absl::StatusOr<int> Quarter(int value) {
  FM_ASSIGN_OR_RETURN(const int half, Half(value));
  FM_ASSIGN_OR_RETURN(const int quarter, Half(half));
  return quarter;
}

absl::Status CheckQuarter(int value) {
  FM_RETURN_IF_ERROR(Quarter(value).status());
  return absl::OkStatus();
}

TEST(Status, FormatsItsMessage) {
  const absl::Status status = NotFound("file '{}' of {}", "a.txt", 3);
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ErrorText(status), "file 'a.txt' of 3");
}

TEST(Status, AnnotateKeepsTheCodeAndLeavesOkAlone) {
  const absl::Status status = Annotate(DataLoss("bad record"), "a.tfrecord");
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(ErrorText(status), "a.tfrecord: bad record");
  EXPECT_TRUE(Annotate(absl::OkStatus(), "anything").ok());
}

TEST(Status, MacrosReturnTheFirstError) {
  EXPECT_EQ(*Quarter(12), 3);
  EXPECT_TRUE(CheckQuarter(12).ok());
  EXPECT_EQ(ErrorText(CheckQuarter(6)), "3 is odd");
}

TEST(StrongId, ComparesByValue) {
  using Name = StrongId<struct NameTag, std::string>;
  EXPECT_EQ(Name("a"), Name("a"));
  EXPECT_LT(Name("a"), Name("b"));
  EXPECT_EQ(Name().value(), "");
  EXPECT_EQ(StrongId<struct NumberTag>().value(), 0u);
}

TEST(CheckDeathTest, NamesTheConditionAndItsPlace) {
  const int rows = 1;
  FM_CHECK(rows == 1);
  EXPECT_DEATH(FM_CHECK(rows == 2), "base_test.cc.*rows == 2");
}

}  // namespace
}  // namespace feedmill
