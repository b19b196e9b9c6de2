#include "core/base/glob_part.h"

#include <fnmatch.h>
#include <gtest/gtest.h>

#include <clocale>
#include <random>
#include <string>

namespace feedmill {
namespace {

TEST(PartMatches, TakesABackslashAsItIs) {
  EXPECT_TRUE(PartMatches("a\\*", "a\\b"));
  EXPECT_FALSE(PartMatches("a\\*", "a*"));
  EXPECT_FALSE(PartMatches("\\b?", "bc"));
  EXPECT_TRUE(PartMatches("a\\[*]", "a\\*"));
  EXPECT_TRUE(PartMatches("[\\]*", "\\a"));
}

std::string Random(std::mt19937& random, std::string_view letters) {
  std::string text(random() % 10, ' ');
  for (char& c : text) c = letters[random() % letters.size()];
  return text;
}

TEST(PartMatches, HasTheRulesOfFnmatchForAscii) {
  std::mt19937 random(1);
  int matches = 0;
  for (int k = 0; k < 300'000; ++k) {
    const std::string part = Random(random, "ab*?[]!^-.");
    const std::string name = Random(random, "abc-].");
    // In glibc a range that ends in a class or in a dot of its own is special.
    if (part.find("[.") != part.npos) continue;
    const bool expected =
        fnmatch(part.c_str(), name.c_str(), FNM_PERIOD | FNM_NOESCAPE) == 0;
    ASSERT_EQ(PartMatches(part, name), expected) << part << " " << name;
    matches += expected ? 1 : 0;
  }
  EXPECT_GT(matches, 1000);
}

TEST(PartMatches, KnowsTheClassesOfAscii) {
  for (const char* const name :
       {"alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print",
        "punct", "space", "upper", "xdigit"}) {
    const std::string part = "x[[:" + std::string(name) + ":]]";
    for (int c = 1; c < 128; ++c) {
      const std::string text = {'x', static_cast<char>(c)};
      EXPECT_EQ(PartMatches(part, text),
                fnmatch(part.c_str(), text.c_str(), FNM_NOESCAPE) == 0)
          << name << " " << c;
    }
    EXPECT_FALSE(PartMatches(part, "xé")) << name;
  }
  EXPECT_TRUE(PartMatches("[![:digit:]_]", "é"));
  EXPECT_FALSE(PartMatches("[![:digit:]_]", "_"));
}

TEST(PartMatches, TakesACharacterOfUtf8AsOneInEachLocale) {
  for (const char* const locale : {"C", "C.utf8"}) {
    ASSERT_NE(std::setlocale(LC_ALL, locale), nullptr);
    EXPECT_TRUE(PartMatches("?.txt", "é.txt"));
    EXPECT_FALSE(PartMatches("??.txt", "é.txt"));
    EXPECT_TRUE(PartMatches("[à-ö].txt", "é.txt"));
    EXPECT_FALSE(PartMatches("[!é].txt", "é.txt"));
    EXPECT_TRUE(PartMatches("*é*", "école élémentaire"));
    EXPECT_TRUE(PartMatches("a?c",
                            "a\xe9"
                            "c"))
        << "Latin-1";
    EXPECT_TRUE(PartMatches("a[\xe9]c",
                            "a\xe9"
                            "c"))
        << "Latin-1";
  }
  std::setlocale(LC_ALL, "C");
}

TEST(PartMatches, AHiddenNameNeedsItsMarkInThePattern) {
  for (const char* const name :
       {".a", "a.txt._COPYING_", "a_$folder$", "lost+found"}) {
    EXPECT_TRUE(IsHiddenName(name)) << name;
    EXPECT_FALSE(PartMatches("*", name)) << name;
    EXPECT_TRUE(PartMatches(name, name)) << name;
  }
  EXPECT_TRUE(PartMatches("*._COPYING_", "a.txt._COPYING_"));
  for (const char* const name : {"a", "_COPYING_.a", "$folder$", "lost"}) {
    EXPECT_FALSE(IsHiddenName(name)) << name;
    EXPECT_TRUE(PartMatches("*", name)) << name;
  }
}

TEST(PartMatches, TakesNoLongerForManyStars) {
  std::string part;
  for (int k = 0; k < 2000; ++k) part += "*a";
  const std::string name(10'000, 'a');
  EXPECT_TRUE(PartMatches(part, name));
  EXPECT_FALSE(PartMatches(part + "b", name));
}

}  // namespace
}  // namespace feedmill
