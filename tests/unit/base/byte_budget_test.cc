#include "core/base/byte_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>

namespace feedmill {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string TextOf(const absl::Status& status) {
  return std::string(status.message().data(), status.message().size());
}

TEST(ByteBudget, RefusesWhatIsLargerThanItsLimit) {
  const ByteBudget budget(1'000);
  EXPECT_EQ(ByteBudget::Limit(), 1'000u);
  ByteBudget::Check(1'000, 1);
  ByteBudget::Check(125, 8);
  EXPECT_THROW(ByteBudget::Check(1'001, 1), MemoryRefused);
  EXPECT_THROW(ByteBudget::Check(126, 8), MemoryRefused);
  EXPECT_TRUE(ByteBudget::Fits(125, 8).ok());
  EXPECT_EQ(ByteBudget::Fits(126, 8).code(),
            absl::StatusCode::kResourceExhausted);
}

TEST(ByteBudget, RefusesProductsThatOverflow) {
  for (const uint64_t count : {uint64_t{1} << 61, UINT64_MAX, UINT64_MAX / 8}) {
    EXPECT_THROW(ByteBudget::Check(count, 16), MemoryRefused) << count;
    const ByteBudget budget(uint64_t{1} << 40);
    EXPECT_THROW(ByteBudget::Check(count, 16), MemoryRefused) << count;
  }
}

TEST(ByteBudget, BoundsAllBlocksTogether) {
  const ByteBudget budget(1'000);
  for (uint64_t k = 0; k < ByteBudget::kWorkingFactor; ++k) {
    ByteBudget::Take(1'000);
  }
  EXPECT_THROW(ByteBudget::Take(1), MemoryRefused);
  ByteBudget::Return(10);
  ByteBudget::Take(10);
  EXPECT_THROW(ByteBudget::Take(1), MemoryRefused);
}

TEST(ByteBudget, CountsNoBlocksOfEarlierBudgets) {
  const ByteBudget budget(1'000);
  ByteBudget::Return(5'000);
  for (uint64_t k = 0; k < ByteBudget::kWorkingFactor; ++k) {
    ByteBudget::Take(1'000);
  }
  EXPECT_THROW(ByteBudget::Take(1), MemoryRefused);
}

TEST(ByteBudget, NestsAndIsOfOneThread) {
  const ByteBudget outer(1'000);
  {
    const ByteBudget inner(10);
    EXPECT_EQ(ByteBudget::Limit(), 10u);
  }
  EXPECT_EQ(ByteBudget::Limit(), 1'000u);
  std::thread([] { EXPECT_EQ(ByteBudget::Limit(), UINT64_MAX); }).join();
}

TEST(ByteBudget, WithoutOneNothingIsCounted) {
  ByteBudget::Take(uint64_t{1} << 60);
  ByteBudget::Take(uint64_t{1} << 60);
  ByteBudget::Return(uint64_t{1} << 60);
  ByteBudget::Check(uint64_t{1} << 40, 1);
}

TEST(MemoryRefused, SaysSizeLimitAndWhatToDo) {
  const MemoryRefused large(uint64_t{1} << 50, uint64_t{1} << 30);
  EXPECT_TRUE(large.over_limit());
  EXPECT_THAT(TextOf(StatusOf(large)),
              AllOf(HasSubstr("1.0 PiB"), HasSubstr("1.0 GiB"),
                    HasSubstr("--element-max")));
  const MemoryRefused refused(3 << 20);
  EXPECT_FALSE(refused.over_limit());
  EXPECT_THAT(TextOf(StatusOf(refused)),
              AllOf(HasSubstr("3.0 MiB"), HasSubstr("ulimit -v")));
}

TEST(MemoryRefused, EveryExceptionIsAResourceThatIsExhausted) {
  const std::bad_alloc none;
  const MemoryRefused large(9, 8);
  const std::runtime_error other("no such thing");
  EXPECT_THAT(TextOf(StatusOf(none)), HasSubstr("out of memory"));
  EXPECT_THAT(TextOf(StatusOf(static_cast<const std::exception&>(large))),
              HasSubstr("9 B"));
  EXPECT_THAT(TextOf(StatusOf(other)), HasSubstr("no such thing"));
}

TEST(BytesText, PicksTheUnit) {
  EXPECT_EQ(BytesText(0), "0 B");
  EXPECT_EQ(BytesText(1023), "1023 B");
  EXPECT_EQ(BytesText(1536), "1.5 KiB");
  EXPECT_EQ(BytesText(UINT64_MAX), "16.0 EiB");
}

}  // namespace
}  // namespace feedmill
