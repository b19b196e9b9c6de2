#include "core/base/printable_text.h"

#include <gtest/gtest.h>

#include <string>

namespace feedmill {
namespace {

TEST(PrintableText, EscapesControlCharactersAndBytesThatAreNoText) {
  const std::pair<std::string, std::string> cases[] = {
      {"", ""},
      {"a b\té€😀", "a b\té€😀"},
      {"x\n2026-01-01 error", "x\\n2026-01-01 error"},
      {"\x1b[2J\r\x7f", "\\x1b[2J\\x0d\\x7f"},
      {std::string("a\0b", 3), "a\\x00b"},
      {"\u009b2J", "\\x9b2J"},
      {"\x9b\xff\xc3", "\\x9b\\xff\\xc3"}};
  for (const auto& [text, shown] : cases) {
    EXPECT_EQ(PrintableText(text), shown);
  }
}

TEST(CutText, KeepsWholeCharacters) {
  EXPECT_EQ(CharactersOf("té€😀"), 4U);
  EXPECT_EQ(CutText("té€😀", 4), "té€😀");
  EXPECT_EQ(CutText("té€😀", 3), "té…");
  EXPECT_EQ(CutText("té€😀", 1), "…");
  EXPECT_EQ(CutText("", 1), "");
}

}  // namespace
}  // namespace feedmill
