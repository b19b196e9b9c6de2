#include "client/session_options.h"

#include <gtest/gtest.h>

#include "core/wire/message.h"
#include "feedmill/reader.h"

namespace feedmill {
namespace {

// reader.h cannot include the private header, so the number is in both.
TEST(SessionOptions, AJobHasTheDefaultWeightOfTheWire) {
  EXPECT_EQ(JobOptions().weight, kDefaultWeight);
}

}  // namespace
}  // namespace feedmill
