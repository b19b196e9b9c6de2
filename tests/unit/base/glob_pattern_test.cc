#include "core/base/glob_pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/base/utf8.h"
#include "feedmill/float16.h"

namespace feedmill {
namespace {

using ::testing::ElementsAre;

TEST(NumbersInName, StandForEachNumberInOrder) {
  EXPECT_THAT(*ExpandNumbersInName("a{8..11}.x", 10),
              ElementsAre("a8.x", "a9.x", "a10.x", "a11.x"));
  EXPECT_THAT(*ExpandNumbersInName("{08..11}", 10),
              ElementsAre("08", "09", "10", "11"));
  EXPECT_THAT(*ExpandNumbersInName("{0..001}", 10), ElementsAre("000", "001"));
  EXPECT_THAT(*ExpandNumbersInName("a{0..1}b{8..9}", 4),
              ElementsAre("a0b8", "a0b9", "a1b8", "a1b9"));
  EXPECT_THAT(*ExpandNumbersInName("plain", 1), ElementsAre("plain"));
}

TEST(NumbersInName, AreBounded) {
  EXPECT_FALSE(ExpandNumbersInName("{0..9}", 9));
  EXPECT_FALSE(ExpandNumbersInName("{0..9}{0..9}", 99));
  EXPECT_TRUE(ExpandNumbersInName("{0..9}{0..9}", 100));
  EXPECT_FALSE(ExpandNumbersInName("{1..0}", 100));
  EXPECT_FALSE(ExpandNumbersInName("{0..999999999999999999}", 1 << 20));
}

TEST(NumbersInName, LeaveOtherBracesAlone) {
  for (const char* text : {"{a..b}", "{1.2}", "{..2}", "{1..}", "{1..2", "{}",
                           "{", "{1..9999999999999999999}", "[{]1..2}"}) {
    EXPECT_FALSE(FindNumbersInName(text)) << text;
  }
  EXPECT_TRUE(FindNumbersInName("{x}{1..2}"));
}

TEST(EscapedPattern, IsItsNameOnly) {
  for (const char* name :
       {"run[1]", "a*b?", "p{0..1}", "{x}", "{0..1}{2..3}"}) {
    const std::string escaped = EscapedPattern(name);
    EXPECT_FALSE(FindNumbersInName(escaped)) << escaped;
    EXPECT_EQ(LiteralPattern(escaped), name);
  }
}

TEST(Float16, HasTheValuesOfIeee754) {
  EXPECT_EQ(float{Float16::FromBits(0x0000)}, 0.0F);
  EXPECT_TRUE(std::signbit(float{Float16::FromBits(0x8000)}));
  EXPECT_EQ(float{Float16::FromBits(0x3c00)}, 1.0F);
  EXPECT_EQ(float{Float16::FromBits(0xc000)}, -2.0F);
  EXPECT_EQ(float{Float16::FromBits(0x7bff)}, 65504.0F);
  EXPECT_EQ(float{Float16::FromBits(0x0001)}, 0x1p-24F);
  EXPECT_EQ(float{Float16::FromBits(0x83ff)}, -0x1.ff8p-15F);
  EXPECT_EQ(float{Float16::FromBits(0x7c00)}, INFINITY);
  EXPECT_TRUE(std::isnan(float{Float16::FromBits(0xfe00)}));
}

TEST(Utf8, IsMadeOfCharactersAndOfLatin1) {
  std::string text;
  for (const uint32_t code : {0x41u, 0xe9u, 0x20acu, 0x1f600u, 0x10ffffu}) {
    AppendUtf8(code, text);
  }
  EXPECT_EQ(text, "A\u00e9\u20ac\U0001f600\U0010ffff");
  std::string scratch;
  const std::string ascii = "ascii";
  EXPECT_EQ(Latin1ToUtf8(ascii, scratch).data(), ascii.data());
  EXPECT_EQ(Latin1ToUtf8("Zo\xeb \xff", scratch), "Zo\u00eb \u00ff");
}

}  // namespace
}  // namespace feedmill
