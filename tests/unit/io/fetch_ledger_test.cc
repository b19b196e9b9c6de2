#include "core/io/fetch_ledger.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace feedmill {
namespace {

constexpr absl::Time kNow = absl::UnixEpoch();

struct TestFetch {
  bool abandoned = false;
  void Abandon() { abandoned = true; }
};
using Ledger = FetchLedger<TestFetch>;

class FetchLedgerTest : public ::testing::Test {
 protected:
  bool Add(uint64_t offset, uint64_t size, absl::Time now = kNow) {
    return ledger_.Add({offset, size}, now, [](const ByteRange&) {
      return std::make_shared<TestFetch>();
    });
  }
  std::vector<Ledger::Part> Parts(uint64_t offset, size_t size,
                                  absl::Time now = kNow) {
    return ledger_.PartsOf(offset, std::span(out_).first(size), 10, now);
  }
  void Read(uint64_t offset, size_t size) {
    for (const Ledger::Part& part : Parts(offset, size)) {
      ledger_.CountRead(part);
    }
  }
  bool Has(uint64_t offset) { return Parts(offset, 1)[0].prefetch.has_value(); }

  std::vector<std::byte> out_{std::vector<std::byte>(200)};
  PrefetchMemory memory_{100};
  Ledger ledger_{memory_, /*read_bytes_max=*/20};
};

TEST_F(FetchLedgerTest, DividesAReadIntoPrefetchesAndMissingParts) {
  ASSERT_TRUE(Add(10, 10) && Add(20, 5) && Add(40, 10));
  const auto parts = Parts(15, 30);
  ASSERT_EQ(parts.size(), 5U);
  const std::vector<ByteRange> want = {
      {15, 5}, {20, 5}, {25, 8}, {33, 7}, {40, 5}};
  for (size_t k = 0; k < want.size(); ++k) {
    EXPECT_EQ((ByteRange{parts[k].offset, parts[k].out.size()}), want[k]);
    EXPECT_EQ(parts[k].out.data(), out_.data() + want[k].offset - 15);
    EXPECT_EQ(parts[k].prefetch.has_value(), k < 2 || k == 4);
    EXPECT_EQ(parts[k].fetch != nullptr, parts[k].prefetch.has_value());
  }
  EXPECT_EQ(parts[0].skip(), 5U);
  EXPECT_EQ(parts[1].skip(), 0U);
  std::vector<ByteRange> missing;
  ledger_.AddMissing({0, 60}, missing);
  EXPECT_EQ(missing, (std::vector<ByteRange>{{0, 10}, {25, 15}, {50, 10}}));
}

TEST_F(FetchLedgerTest, RefusesPrefetchesBeyondTheMemory) {
  EXPECT_TRUE(Add(0, 60));
  EXPECT_FALSE(Add(60, 60));
  EXPECT_TRUE(Add(60, 40));
  EXPECT_EQ(memory_.Left(), 0U);
}

TEST_F(FetchLedgerTest, KeepsTheLastPrefetchesThatWereRead) {
  ASSERT_TRUE(Add(0, 10) && Add(10, 10) && Add(20, 10));
  Read(0, 5);
  Read(5, 25);
  EXPECT_FALSE(Has(0));
  EXPECT_TRUE(Has(10) && Has(20));
  EXPECT_EQ(memory_.Left(), 80U);
  Read(10, 20);  // Bytes that are read again count once.
  EXPECT_TRUE(Has(10) && Has(20));
}

TEST_F(FetchLedgerTest, FetchesFailedRangesAgain) {
  ASSERT_TRUE(Add(0, 10));
  const auto failed = Parts(0, 10);
  ledger_.DropFailed(failed[0]);
  EXPECT_FALSE(Has(0));
  EXPECT_EQ(memory_.Left(), 100U);
  ASSERT_TRUE(Add(0, 10));
  // Another reader of the failed fetch does not drop or count its successor.
  ledger_.DropFailed(failed[0]);
  ledger_.CountRead(failed[0]);
  EXPECT_TRUE(Has(0));
  Read(0, 10);
  ledger_.DropFailed(Parts(0, 10)[0]);
  EXPECT_EQ(memory_.Left(), 100U);
}

TEST_F(FetchLedgerTest, DropsWhatIsNotNeeded) {
  const absl::Time later = kNow + absl::Seconds(1);
  ASSERT_TRUE(Add(0, 10) && Add(10, 10) && Add(20, 10) && Add(30, 10, later));
  Read(0, 10);                        // done
  const auto running = Parts(10, 1);  // its fetch is in use
  ledger_.DropUnneeded(later);
  EXPECT_EQ(memory_.Left(), 80U);
  EXPECT_FALSE(Has(0) || Has(20));
  EXPECT_TRUE(Has(10) && Has(30));
  Read(30, 1);
  ledger_.DropPartlyRead();
  EXPECT_FALSE(Has(30));
}

TEST_F(FetchLedgerTest, ReturnsItsMemory) {
  PrefetchMemory memory(10);
  const auto fetch = std::make_shared<TestFetch>();
  {
    Ledger ledger(memory, 0);
    EXPECT_FALSE(ledger.AbandonAll());
    ASSERT_TRUE(
        ledger.Add({0, 10}, kNow, [&](const ByteRange&) { return fetch; }));
    EXPECT_TRUE(ledger.AbandonAll());
    EXPECT_EQ(memory.Left(), 0U);
  }
  EXPECT_TRUE(fetch->abandoned);
  EXPECT_EQ(memory.Left(), 10U);
}

}  // namespace
}  // namespace feedmill
