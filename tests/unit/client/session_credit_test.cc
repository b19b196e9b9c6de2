#include "tests/unit/client/session_vocabulary.h"

namespace feedmill {
namespace {

using SessionCreditTest = SessionTest;

// ---- rules 13 to 15
TEST_F(SessionCreditTest, CreditIsBoundedByTheWindow) {
  std::vector<BoundSplit> splits;
  for (uint64_t n = 0; n < 20; ++n) {
    splits.push_back(Bound(n, n * 100, n * 100 + 100));
  }
  GivenSplits(splits);
  uint64_t total = 0;
  for (uint64_t n = 0; n < 20; ++n) {
    EXPECT_LE(Granted(n).total_bytes, 160);
    total += Granted(n).total_bytes;
  }
  EXPECT_EQ(total, 320);  // two quotas
  EXPECT_EQ(Granted(0).total_bytes, 160);
}

TEST_F(SessionCreditTest, SplitsGetNoMoreCreditThanTheyMayNeed) {
  std::vector<BoundSplit> splits;
  for (uint64_t n = 0; n < 20; ++n)
    splits.push_back(Bound(n, 5 * n, 5 * n + 5));
  GivenSplits(splits);
  Receive(0, MakePiece(0, 5));
  PullAll();
  Pass(absl::Milliseconds(200));
  // A split has 40 bytes; one frame of 80 may come.
  int granted = 0;
  for (uint64_t n = 1; n < 20; ++n) {
    const uint64_t total = Granted(n).total_bytes;
    if (total == 160) continue;  // before any measurement
    EXPECT_LE(total, 80);
    granted += total > 0 ? 1 : 0;
  }
  EXPECT_GE(granted, 2);
}

// Twenty splits of 100 rows whose workers immediately send all that they may.
class WindowTest : public SessionCreditTest {
 protected:
  WindowTest() {
    std::vector<BoundSplit> splits;
    for (uint64_t n = 0; n < kSplits; ++n) {
      splits.push_back(Bound(n, n * 100, n * 100 + 100));
      at_.push_back(n * 100);
    }
    GivenSplits(splits);
  }
  // Returns the bytes received.
  uint64_t ReceiveAll() {
    uint64_t bytes = 0;
    for (uint64_t n = 0; n < kSplits; ++n) {
      const uint64_t to =
          std::min(n * 100 + Granted(n).total_bytes / 8, n * 100 + 100);
      for (; at_[n] + 5 <= to; at_[n] += 5, bytes += 40) {
        Receive(n, MakePiece(at_[n], at_[n] + 5));
      }
    }
    return bytes;
  }
  // Returns the maximum of bytes received in a round trip of 100 ms.
  uint64_t ReadOverALongLink(int round_trips) {
    uint64_t most = 0;
    for (int k = 0; k < round_trips; ++k) {
      Tick(absl::Milliseconds(100));
      most = std::max(most, ReceiveAll());
      PullAll();
    }
    return most;
  }

  static constexpr uint64_t kSplits = 20;
  std::vector<uint64_t> at_;
};

TEST_F(WindowTest, WidensToTheBudgetWhereTheRoundTripIsLong) {
  const uint64_t most = ReadOverALongLink(15);
  EXPECT_GT(most, 640);
  EXPECT_LE(most, 800);
}

// Bytes of a head beyond its credit were on their way before the new credit.
TEST_F(WindowTest, AnOverdrawnFrameIsNoRoundTrip) {
  uint64_t most = 0;
  for (int round_trip = 0; round_trip < 15; ++round_trip) {
    std::vector<uint64_t> known;
    for (uint64_t n = 0; n < kSplits; ++n) {
      known.push_back(n * 100 + Granted(n).total_bytes / 8);
    }
    Tick(absl::Milliseconds(100));
    uint64_t bytes = 0;
    for (uint64_t n = 0; n < kSplits; ++n) {
      while (at_[n] < known[n] && at_[n] < n * 100 + 100) {
        const uint64_t to = std::min(at_[n] + 7, n * 100 + 100);
        Tick(absl::Milliseconds(1));
        Receive(n, MakePiece(at_[n], to));
        PullAll();
        bytes += 8 * (to - at_[n]);
        at_[n] = to;
      }
    }
    most = std::max(most, bytes);
  }
  EXPECT_GT(most, 640);
}

TEST_F(WindowTest, StaysSmallWhereTheRoundTripIsShort) {
  for (uint64_t k = 0; k < 100; ++k) {
    Tick(absl::Milliseconds(10));
    // 40 bytes arrive in that time, regardless of the credit.
    Receive(k / 20, MakePiece(5 * k, 5 * k + 5));
    PullAll();
  }
  uint64_t allowed = 0;
  for (uint64_t n = 5; n < kSplits; ++n) allowed += Granted(n).total_bytes;
  EXPECT_LE(allowed, 320);
}

TEST_F(WindowTest, GoesBackWhereAWiderOneBringsNoMore) {
  // In a round trip of 4 ms more than a window seems to arrive, but at a
  // constant rate.
  int wide = 0;
  for (int k = 0; k < 60; ++k) {
    Tick(absl::Milliseconds(4));
    uint64_t allowed = 0;
    for (uint64_t n = 0, left = 3; n < kSplits; ++n) {
      const uint64_t to =
          std::min(n * 100 + Granted(n).total_bytes / 8, n * 100 + 100);
      allowed += 8 * (to - at_[n]);
      for (; left > 0 && at_[n] + 5 <= to; at_[n] += 5, --left) {
        Receive(n, MakePiece(at_[n], at_[n] + 5));
      }
    }
    PullAll();
    wide += allowed > 320 ? 1 : 0;
  }
  EXPECT_GE(wide, 1);
  EXPECT_LE(wide, 10);  // about 20 ms of 240
}

TEST_F(WindowTest, ReportsTheRateWhileItWaits) {
  // Every 20 ms 40 bytes of elements arrive as 10 bytes, although all granted
  // bytes could have arrived in one.
  const auto read = [&](uint64_t from, bool waits) {
    for (uint64_t k = from; k < from + 20; ++k) {
      Tick(absl::Milliseconds(20));
      Receive(k / 20, MakePiece(5 * k, 5 * k + 5), 1, 10);
      if (waits || k % 4 == 3) PullAll();
    }
    return Granted(from / 20).arriving;
  };
  EXPECT_EQ(read(0, true), 500u);
  EXPECT_EQ(read(20, false), 0u);
  EXPECT_EQ(read(40, true), 500u);
}

// Credit is the bottleneck there.
TEST_F(WindowTest, ReportsNoRateIfTheWindowDoesNotFillTheRoundTrip) {
  ReadOverALongLink(15);
  for (uint64_t n = 0; n < kSplits; ++n) EXPECT_EQ(Granted(n).arriving, 0u);
}

TEST_F(WindowTest, NarrowsWhileHalfOfItIsNeverNeeded) {
  EXPECT_GT(ReadOverALongLink(10), 400);
  for (int k = 0; k < 80; ++k) {
    ReceiveAll();
    EXPECT_TRUE(Pull().has_value());
  }
  EXPECT_LE(session_.buffered_bytes(), 320 + 40);
}

TEST_F(SessionCreditTest, TheHeadAlwaysHasCreditWhenItsBufferIsEmpty) {
  GivenSplits({Bound(1, 0, 100), Bound(2, 100, 200)});
  EXPECT_TRUE(Granted(1).head);
  EXPECT_FALSE(Granted(2).head);
  // The head's worker is slow: the other split uses all it may.
  uint64_t at = 100;
  while (Granted(2).total_bytes / 8 + 100 > at) {
    const uint64_t to =
        std::min<uint64_t>(200, Granted(2).total_bytes / 8 + 100);
    Receive(2, MakePiece(at, to));
    at = to;
  }
  EXPECT_LE(session_.buffered_bytes(), 640);
  // One frame at a time, each larger than the remaining credit.
  for (uint64_t p = 0; p < 100; p += 50) {
    EXPECT_GT(Granted(1).total_bytes, p * 8);
    Receive(1, MakePiece(p, p + 50));
    EXPECT_LE(session_.buffered_bytes(), 800 + 400);
    EXPECT_THAT(PullAll(), SizeIs(p < 50 ? 50 : 50 + at - 100));
  }
  EXPECT_TRUE(Granted(2).head);
}

TEST_F(SessionCreditTest, TheQuotaGrowsWithTheFrames) {
  GivenSplits({Bound(1, 0, 100), Bound(2, 100, 200)});
  EXPECT_EQ(Granted(1).total_bytes, 160);
  Receive(1, MakePiece(0, 20));
  PullAll();
  // Two frames; at most a quarter of the budget.
  EXPECT_EQ(Granted(1).total_bytes, 160 + 200);
}

TEST_F(SessionCreditTest, CreditReturnsInQuartersWhenItIsPulled) {
  std::vector<BoundSplit> splits;
  for (uint64_t n = 0; n < 5; ++n) {
    splits.push_back(Bound(n, n * 100, n * 100 + 100));
  }
  GivenSplits(splits);
  Said<Grant>();
  for (uint64_t p = 0; p < 100; p += 1) {
    Receive(0, MakePiece(p, p + 1));
    Pull();
  }
  const auto grants = Said<Grant>();
  EXPECT_LE(grants.size(), 25);
  EXPECT_GE(grants.size(), 10);
}

}  // namespace
}  // namespace feedmill
