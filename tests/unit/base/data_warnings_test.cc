#include "core/base/data_warnings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace feedmill {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(DataWarnings, CountsEachKindAndKeepsTheFirstExample) {
  EXPECT_EQ(DataWarningsNoted(), 0);
  EXPECT_TRUE(DataWarningTexts().empty());
  NoteDataWarning(DataWarning::kTrailingBytes, "a.gz");
  NoteDataWarning(DataWarning::kTrailingBytes, "b.gz", 2);
  EXPECT_EQ(DataWarningsNoted(), 3);
  EXPECT_THAT(DataWarningTexts(),
              ElementsAre(AllOf(HasSubstr("3 times"), HasSubstr("in a.gz"))));
  constexpr int kEach = 10'000;
  std::vector<std::thread> threads;
  for (int k = 0; k < 4; ++k) {
    threads.emplace_back([] {
      for (int n = 0; n < kEach; ++n) {
        NoteDataWarning(DataWarning::kImage, "extraneous bytes");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(DataWarningsNoted(), 3 + 4 * kEach);
  EXPECT_THAT(DataWarningTexts(),
              ElementsAre(AllOf(HasSubstr("40000 images were"),
                                HasSubstr("extraneous bytes")),
                          HasSubstr("3 times")));
}

}  // namespace
}  // namespace feedmill
