#include "client/reader_roster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace feedmill {
namespace {

using Entry = ReaderRoster::Entry;

ReaderState StateOf(uint64_t elements, bool joined = true) {
  ReaderState state;
  state.joined = joined;
  state.load.elements = elements;
  state.load.buffered_bytes = 10 * elements;
  state.load.waited = absl::Seconds(elements);
  state.reconnects = 1;
  return state;
}

TEST(ReaderRoster, SumsReadersOfAJobAndARank) {
  ReaderRoster roster;
  const Entry a(roster, "train", 1, [] { return StateOf(2); });
  const Entry b(roster, "train", 1, [] { return StateOf(3, false); });
  const Entry c(roster, "train", 0, [] { return StateOf(7); });
  const auto totals = roster.Totals();
  ASSERT_EQ(totals.size(), 2u);
  EXPECT_EQ(totals[0].rank, 0u);
  EXPECT_EQ(totals[0].load.elements, 7u);
  EXPECT_EQ(totals[1].job, "train");
  EXPECT_EQ(totals[1].load.elements, 5u);
  EXPECT_EQ(totals[1].load.waited, absl::Seconds(5));
  EXPECT_EQ(totals[1].load.buffered_bytes, 50u);
  EXPECT_EQ(totals[1].reconnects, 2u);
  EXPECT_EQ(totals[1].open, 2u);
  EXPECT_EQ(totals[1].joined, 1u);
}

TEST(ReaderRoster, KeepsTheCountersOfReadersThatEnded) {
  ReaderRoster roster;
  for (uint64_t epoch = 0; epoch < 3; ++epoch) {
    const Entry reader(roster, "train", 0, [] { return StateOf(4); });
    EXPECT_EQ(roster.Totals()[0].load.elements, 4 * (epoch + 1));
  }
  const auto totals = roster.Totals();
  ASSERT_EQ(totals.size(), 1u);
  EXPECT_EQ(totals[0].open, 0u);
  EXPECT_EQ(totals[0].load.elements, 12u);
  EXPECT_EQ(totals[0].load.buffered_bytes, 0u);
}

TEST(ReaderRoster, KeepsABoundedNumberOfJobs) {
  ReaderRoster roster;
  for (size_t k = 0; k < 2 * ReaderRoster::kTotalsMax; ++k) {
    const Entry reader(roster, "job" + std::to_string(k), 0,
                       [] { return StateOf(1); });
  }
  const auto totals = roster.Totals();
  EXPECT_EQ(totals.size(), ReaderRoster::kTotalsMax + 1);
  uint64_t elements = 0;
  for (const ReaderTotals& each : totals) elements += each.load.elements;
  EXPECT_EQ(elements, 2 * ReaderRoster::kTotalsMax);
}

}  // namespace
}  // namespace feedmill
