// Records that crash the workers which read them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "broker/dispatcher.h"
#include "tests/unit/broker/dispatcher_vocabulary.h"

namespace feedmill::testing {
namespace {

using ::testing::HasSubstr;

// A cluster whose workers crash at a certain position.
class ARecordThatKills : public ::testing::Test {
 protected:
  explicit ARecordThatKills(const std::string& graph = "range 1000")
      : reader_(cluster_.AddReader("j", "solo", graph).Hello()) {}

  const BoundSplit& head() const { return reader_.split(0); }
  bool blamed() const { return !head().error.ok(); }

  // A new worker runs its leases of the first split, up to the position.
  // Returns true if it reached the position.
  bool DiesAt(uint64_t position) {
    Miller& worker = cluster_.AddWorker(fmt::format("w{}", ++workers_));
    worker_ = &worker;
    const SplitId id = head().split;
    while (head().split == id && !blamed()) {
      const auto& leases = worker.leases();
      const auto lease =
          std::find_if(leases.begin(), leases.end(),
                       [&](const Lease& held) { return held.split == id; });
      if (lease == leases.end()) return false;
      alone_ = leases.size() == 1;
      if (taken_ <= position && position < lease->end.p) return true;
      taken_ = lease->end.p;
      reader_.Report(id, {taken_, 0}, {taken_, 0}).Beat();
    }
    return false;
  }
  void Silence() { cluster_.Pass(absl::Seconds(3), {&reader_}); }
  void Death() {
    cluster_.dispatcher().OnPeerGone(PeerId(worker_->peer()));
    Silence();
  }

  Cluster cluster_;
  Reader& reader_;
  Miller* worker_ = nullptr;
  uint64_t taken_ = 0;
  int workers_ = 0;
  bool alone_ = false;
};

TEST_F(ARecordThatKills, IsFoundByRunningItAloneAndNamed) {
  int deaths = 0;
  while (DiesAt(7)) {
    ++deaths;
    ASSERT_LE(deaths, 4);
    EXPECT_TRUE(alone_ || deaths <= 2);
    Death();
  }
  EXPECT_EQ(deaths, 4);
  ASSERT_TRUE(absl::IsDataLoss(head().error)) << head().error;
  EXPECT_THAT(ErrorText(head().error), HasSubstr("position 7 kills"));
  EXPECT_EQ(taken_, 7);
  EXPECT_TRUE(reader_.split(1).error.ok());
  const auto status =
      nlohmann::json::parse(cluster_.dispatcher().StatusJson(cluster_.now()));
  EXPECT_EQ(status["faults"]["workers_died"], 4);
  EXPECT_EQ(status["faults"]["splits_failed"], 1);
}

// The same with a pipeline that skips errors.
class ASkippedRecordThatKills : public ARecordThatKills {
 protected:
  ASkippedRecordThatKills() : ARecordThatKills("range 1000 skipping") {}
};

TEST_F(ASkippedRecordThatKills, IsLeftOutAndItsSplitContinues) {
  int deaths = 0;
  while (DiesAt(7)) {
    ++deaths;
    ASSERT_LE(deaths, 4);
    Death();
    if (head().skip) break;
  }
  EXPECT_EQ(deaths, 4);
  ASSERT_TRUE(head().skip.has_value());
  EXPECT_TRUE(head().error.ok());
  EXPECT_TRUE(head().leases.empty());
  EXPECT_EQ(head().skip->cursor, (Cursor{7, 0}));
  EXPECT_THAT(head().skip->error, HasSubstr("position 7 kills"));
  const SplitId id = head().split;
  reader_.Report(id, {8, 0}, {8, 0}).Beat();
  EXPECT_FALSE(head().skip.has_value());
  taken_ = 8;
  EXPECT_FALSE(DiesAt(2'000));  // continues with the remaining positions
  EXPECT_NE(head().split, id);
  const auto status =
      nlohmann::json::parse(cluster_.dispatcher().StatusJson(cluster_.now()));
  EXPECT_EQ(status["faults"]["splits_failed"], 0);
}

TEST_F(ARecordThatKills, IsNotBlamedForWorkersThatAreSilentOnly) {
  for (int losses = 0; losses < 10; ++losses) {
    EXPECT_TRUE(DiesAt(7));
    Silence();
  }
  EXPECT_FALSE(blamed());
  EXPECT_FALSE(DiesAt(2'000));
}

TEST_F(ARecordThatKills, IsNotBlamedWhenAWorkerGetsPastIt) {
  EXPECT_TRUE(DiesAt(7));
  Death();
  EXPECT_TRUE(DiesAt(7));
  Death();
  EXPECT_TRUE(DiesAt(7));
  Death();
  const SplitId suspect = head().split;
  EXPECT_FALSE(DiesAt(2'000));  // the whole split is taken, piece by piece
  EXPECT_FALSE(blamed());
  EXPECT_NE(head().split, suspect);
}

TEST_F(ARecordThatKills, IsNotSoughtWhereAWorkerSaysThatItLives) {
  for (int breaks = 0; breaks < 10; ++breaks) {
    EXPECT_TRUE(DiesAt(7));
    cluster_.dispatcher().OnPeerGone(PeerId(worker_->peer()));
    worker_->Beat();  // only the connection was lost
    Silence();
  }
  EXPECT_FALSE(blamed());
}

}  // namespace
}  // namespace feedmill::testing
