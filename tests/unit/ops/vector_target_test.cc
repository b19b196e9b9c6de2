#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "core/ops/loops.h"
#include "core/ops/selected_rows.h"

namespace feedmill {
namespace {

constexpr size_t kItems = 1003;  // not a multiple of any vector size

struct Case {
  const char* name;
  Loop (*make)(DType);
  int inputs;
};

Loop Less(DType calc) { return ComparisonLoop(Comparison::kLess, calc, calc); }
Loop GreaterEqual(DType calc) {
  return ComparisonLoop(Comparison::kGreaterEqual, calc, calc);
}
Loop NotEqual(DType calc) {
  return ComparisonLoop(Comparison::kNotEqual, calc, calc);
}

const Case kCases[] = {
    {"add", AddLoop, 2},
    {"subtract", SubtractLoop, 2},
    {"multiply", MultiplyLoop, 2},
    {"divide", DivideLoop, 2},
    {"floor_divide", FloorDivideLoop, 2},
    {"remainder", RemainderLoop, 2},
    {"power", PowerLoop, 2},
    {"negative", NegativeLoop, 1},
    {"abs", AbsLoop, 1},
    {"square", SquareLoop, 1},
    {"sign", SignLoop, 1},
    {"bitwise_and", BitwiseAndLoop, 2},
    {"invert", InvertLoop, 1},
    {"left_shift", LeftShiftLoop, 2},
    {"right_shift", RightShiftLoop, 2},
    {"sqrt", SqrtLoop, 1},
    {"exp", ExpLoop, 1},
    {"floor", FloorLoop, 1},
    {"round", RoundLoop, 1},
    {"isnan", IsNanLoop, 1},
    {"less", Less, 2},
    {"greater_equal", GreaterEqual, 2},
    {"not_equal", NotEqual, 2},
    {"minimum", MinimumLoop, 2},
    {"maximum", MaximumLoop, 2},
    {"clip", ClipLoop, 3},
};

// Returns random bits; for floats also special values.
std::vector<std::byte> RandomItems(DType dtype, std::mt19937_64& random) {
  std::vector<std::byte> bytes(kItems * ItemSize(dtype));
  for (std::byte& byte : bytes) byte = std::byte(random() & 0xff);
  if (dtype == DType::kBool) {
    for (std::byte& byte : bytes) byte &= std::byte{1};
  }
  auto floats = [&](auto zero) {
    using T = decltype(zero);
    const T special[] = {T{0},
                         -T{0},
                         T{1},
                         T{-2},
                         static_cast<T>(1e30),
                         std::numeric_limits<T>::infinity(),
                         std::numeric_limits<T>::quiet_NaN()};
    for (size_t k = 0; k < kItems; ++k) {
      const T value = random() % 3 == 0
                          ? special[random() % std::size(special)]
                          : static_cast<T>(static_cast<int64_t>(random())) /
                                static_cast<T>(3e14);
      std::memcpy(bytes.data() + k * sizeof(T), &value, sizeof(T));
    }
  };
  if (dtype == DType::kFloat32) floats(float{});
  if (dtype == DType::kFloat64) floats(double{});
  return bytes;
}

std::vector<VectorTarget> Targets() {
  std::vector<VectorTarget> targets = {VectorTarget::kBaseline};
  if (BestVectorTarget() >= VectorTarget::kAvx2) {
    targets.push_back(VectorTarget::kAvx2);
  }
  if (BestVectorTarget() >= VectorTarget::kAvx512) {
    targets.push_back(VectorTarget::kAvx512);
  }
  return targets;
}

struct Outcome {
  size_t count = 0;
  std::vector<std::byte> bytes;

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome RunWith(VectorTarget target, const Case& one, DType dtype,
                const LoopInputs& in) {
  SetLoopTarget(target);
  const Loop loop = one.make(dtype);
  SetLoopTarget(BestVectorTarget());
  Outcome outcome;
  if (loop == nullptr) return outcome;
  outcome.bytes.resize(kItems * 8);
  outcome.count = loop(in, outcome.bytes.data(), kItems);
  // Bytes written beyond the results do not count; a result has at least one
  // byte.
  if (outcome.count < kItems) outcome.bytes.resize(outcome.count);
  return outcome;
}

TEST(VectorTarget, AllGiveTheSameBits) {
  std::mt19937_64 random(7);
  const std::vector<VectorTarget> targets = Targets();
  size_t compared = 0;
  for (const Case& one : kCases) {
    for (const DType dtype :
         {DType::kBool, DType::kInt8, DType::kUInt8, DType::kInt16,
          DType::kUInt16, DType::kInt32, DType::kUInt32, DType::kInt64,
          DType::kUInt64, DType::kFloat32, DType::kFloat64}) {
      for (const bool scalar : {false, true}) {
        std::vector<std::vector<std::byte>> items;
        LoopInputs in;
        in.last_is_scalar = scalar;
        for (int k = 0; k < one.inputs; ++k) {
          items.push_back(RandomItems(dtype, random));
          in.items[k] = items.back().data();
        }
        const Outcome baseline = RunWith(targets[0], one, dtype, in);
        for (const VectorTarget target : targets) {
          EXPECT_EQ(RunWith(target, one, dtype, in), baseline)
              << one.name << " of " << DTypeName(dtype) << ", scalar " << scalar
              << ", target " << static_cast<int>(target);
        }
        compared += baseline.count;
      }
    }
  }
  EXPECT_GT(compared, 200'000u);
}

// Checks Python's flooring // and % with one divisor.
template <class T>
void ExpectFloored(T n, T d) {
  const auto wide = static_cast<__int128>(n);
  __int128 quotient = wide / d;
  if (quotient * d > wide) --quotient;
  for (const VectorTarget target : Targets()) {
    SetLoopTarget(target);
    LoopInputs in{{&n, &d, nullptr}, true};
    T got = 0;
    ASSERT_EQ(FloorDivideLoop(DTypeOf<T>())(in, &got, 1), 1u);
    EXPECT_EQ(got, static_cast<T>(quotient)) << n << " // " << d;
    ASSERT_EQ(RemainderLoop(DTypeOf<T>())(in, &got, 1), 1u);
    EXPECT_EQ(got, static_cast<T>(wide - quotient * d)) << n << " % " << d;
  }
  SetLoopTarget(BestVectorTarget());
}

template <class T>
void ExpectFlooredAtTheEdges() {
  std::mt19937_64 random(8);
  constexpr T kMax = std::numeric_limits<T>::max();
  constexpr T kMin = std::numeric_limits<T>::min();
  std::vector<T> divisors = {2,
                             3,
                             4,
                             5,
                             7,
                             10,
                             641,
                             kMax,
                             kMax - 1,
                             kMax / 2,
                             kMax / 2 + 1,
                             kMax / 2 + 2,
                             kMax / 3};
  for (int k = 0; k < 200; ++k) {
    const auto bits = static_cast<T>(random() & static_cast<uint64_t>(kMax));
    divisors.push_back(
        std::max<T>(2, static_cast<T>(bits >> (random() % (sizeof(T) * 8)))));
  }
  for (const T d : divisors) {
    for (const T n :
         {T{0}, T{1}, T{-1}, kMax, kMin, static_cast<T>(kMin + 1), d,
          static_cast<T>(-d), static_cast<T>(d - 1), static_cast<T>(1 - d),
          static_cast<T>(kMax / d * d), static_cast<T>(kMax / d * d - 1),
          static_cast<T>(kMin / d * d),
          static_cast<T>(static_cast<int64_t>(random()))}) {
      ExpectFloored<T>(n, d);
    }
  }
}

TEST(VectorTarget, DivisionByAConstantFloors) {
  ExpectFlooredAtTheEdges<int32_t>();
  ExpectFlooredAtTheEdges<int64_t>();
}

TEST(VectorTarget, AllSelectTheSameRows) {
  std::mt19937_64 random(8);
  for (const size_t rows : {0U, 1U, 63U, 64U, 65U, 640U, 1003U}) {
    for (const uint64_t of_4 : {0U, 1U, 3U, 4U}) {
      std::vector<uint8_t> keep(rows);
      std::vector<uint32_t> expected;
      for (size_t row = 0; row < rows; ++row) {
        keep[row] = random() % 4 < of_4 ? 1 : 0;
        if (keep[row] != 0) expected.push_back(static_cast<uint32_t>(row));
      }
      for (const VectorTarget target : Targets()) {
        SetLoopTarget(target);
        std::vector<uint64_t> bits(WordsOf(rows), ~uint64_t{0});
        ASSERT_EQ(SelectRows(keep, bits.data()), expected.size());
        std::vector<uint32_t> numbers;
        NumberRows(bits, numbers);
        ASSERT_EQ(numbers, expected);
        for (const size_t size : {0U, 1U, 2U, 3U, 4U, 8U, 16U}) {
          std::vector<std::byte> from(rows * size), to(rows * size), want;
          for (std::byte& byte : from) byte = std::byte(random() & 0xff);
          ASSERT_EQ(
              CopySelected(bits.data(), rows, size, from.data(), to.data()),
              expected.size());
          for (const uint32_t row : expected) {
            const auto at = from.begin() + static_cast<ptrdiff_t>(row * size);
            want.insert(want.end(), at, at + static_cast<ptrdiff_t>(size));
          }
          to.resize(want.size());
          ASSERT_EQ(to, want) << rows << " rows of " << size;
        }
      }
      SetLoopTarget(BestVectorTarget());
    }
  }
}

}  // namespace
}  // namespace feedmill
