// Numbers in texts: the most common form has a faster way, which must
// give what the C library gives.

#include "core/sources/value_text.h"

#include <gtest/gtest.h>

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <string_view>

namespace feedmill {
namespace {

// Draws a text of digits, with a sign, a point or something else.
std::string DrawText(std::mt19937& draw) {
  std::string text;
  for (size_t size = draw() % 20; size > 0; --size) {
    text += static_cast<char>('0' + draw() % 10);
  }
  if (draw() % 2 == 0) text.insert(draw() % (text.size() + 1), 1, '.');
  if (draw() % 8 == 0) text.insert(0, 1, "-+ x"[draw() % 4]);
  if (draw() % 8 == 0) text += "e.-7"[draw() % 4];
  return text;
}

template <class T>
void ExpectSame(const std::string& text, T want, DType dtype) {
  BufferBuilder values;
  if (!AppendPlainNumber(text, dtype, values)) {
    EXPECT_EQ(values.size(), 0u);
    return;
  }
  ASSERT_EQ(values.size(), sizeof(T));
  EXPECT_EQ(std::memcmp(values.data(), &want, sizeof(T)), 0)
      << text << ": " << *values.As<T>() << " instead of " << want;
  EXPECT_TRUE(FloatKeepsInteger(text, dtype)) << text;
}

template <class T>
void ExpectSameInteger(const std::string& text, DType dtype) {
  T want{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, want);
  const bool good = stop == end && error == std::errc() && !text.empty();
  BufferBuilder values;
  EXPECT_LE(AppendPlainNumber(text, dtype, values), good) << text;
  if (good) ExpectSame(text, want, dtype);
}

TEST(PlainNumber, IsWhatTheLibraryReads) {
  std::mt19937 draw(1);
  for (int k = 0; k < 300'000; ++k) {
    const std::string text = DrawText(draw);
    ExpectSame(text, std::strtod(text.c_str(), nullptr), DType::kFloat64);
    ExpectSame(text, std::strtof(text.c_str(), nullptr), DType::kFloat32);
    ExpectSameInteger<int64_t>(text, DType::kInt64);
    ExpectSameInteger<uint64_t>(text, DType::kUInt64);
    ExpectSameInteger<int8_t>(text, DType::kInt8);
    ExpectSameInteger<uint16_t>(text, DType::kUInt16);
  }
}

TEST(PlainNumber, IsAnyUsualOne) {
  for (const std::string_view text :
       {"0", "-0", "7", "12345", "999999999999999", "0.5", "-3.25", "007.50",
        "35361.318300", "-0.0", "0.123456789012345"}) {
    BufferBuilder values;
    EXPECT_TRUE(AppendPlainNumber(text, DType::kFloat64, values)) << text;
  }
  for (const std::string_view text :
       {"", "-", ".", ".5", "5.", "+5", "1e5", "1.2.3", "nan", " 1", "0x1",
        "12345678901234567890"}) {
    BufferBuilder values;
    EXPECT_FALSE(AppendPlainNumber(text, DType::kFloat64, values)) << text;
    EXPECT_FALSE(AppendPlainNumber(text, DType::kBool, values)) << text;
  }
}

TEST(PlainNumber, LeavesOtherFormsToTheGeneralMethod) {
  BufferBuilder values;
  ASSERT_TRUE(AppendNumber("1e5", DType::kFloat64, values));
  ASSERT_TRUE(AppendNumber("+.5", DType::kFloat64, values));
  ASSERT_TRUE(AppendNumber("5.", DType::kFloat64, values));
  EXPECT_EQ(values.As<double>()[0], 1e5);
  EXPECT_EQ(values.As<double>()[1], 0.5);
  EXPECT_EQ(values.As<double>()[2], 5);
  EXPECT_FALSE(AppendNumber("1.5", DType::kInt64, values));
  EXPECT_FALSE(AppendNumber("-1", DType::kUInt8, values));
  EXPECT_FALSE(AppendNumber("256", DType::kUInt8, values));
}

}  // namespace
}  // namespace feedmill
