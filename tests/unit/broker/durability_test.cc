// The journal positions that the dispatcher sends to peers, and its behaviour
// when the journal is behind them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "broker/dispatcher.h"
#include "core/base/status.h"
#include "tests/unit/broker/dispatcher_vocabulary.h"

namespace feedmill::testing {
namespace {

using ::testing::HasSubstr;

TEST(Seen, CountsWhatIsOnDiskWhenItIsReported) {  // rule 8
  Cluster cluster;
  cluster.AddWorker("w1");
  Reader& reader = cluster.AddReader("j", "solo", "range 1000").Hello();
  // Splits bound in this call are synced before the answer is sent.
  const uint64_t bound = cluster.state().sequence;
  EXPECT_EQ(reader.answer->seen, (Seen{JournalId(77), bound}));
}

TEST(Seen, LeavesOutReportsThatMayBeLate) {  // rule 6
  Cluster cluster;
  cluster.AddWorker("w1");
  Reader& reader = cluster.AddReader("j", "solo", "range 1000").Hello();
  const uint64_t bound = cluster.state().sequence;
  const BoundSplit head = reader.split(0);
  reader.Report(head.split, {head.begin.p + 1, 0}, head.begin).Beat();
  ASSERT_TRUE(MayBeLate(cluster.journal.back()));
  EXPECT_EQ(cluster.state().sequence, bound + 1);
  EXPECT_EQ(reader.answer->seen.sequence, bound);
  cluster.dispatcher().NoteSynced(bound + 1, absl::ZeroDuration());
  reader.Beat();
  EXPECT_EQ(reader.answer->seen.sequence, bound + 1);
}

TEST(Seen, AnEndIsOnDiskWithAllBeforeIt) {  // rules 6, 7
  Cluster cluster;
  cluster.AddWorker("w1");
  Reader& reader = cluster.AddReader("j", "solo", "range 1000").Hello();
  reader.Finish(reader.split(0)).Beat();
  EXPECT_EQ(reader.answer->seen.sequence, cluster.state().sequence);
}

TEST(Seen, OnlyReportsMayBeLate) {  // rule 6
  Cluster cluster;
  cluster.AddWorker("w1");
  Reader& reader = cluster.AddReader("j", "solo", "range 100").Hello();
  while (!reader.splits().empty()) reader.FinishAll().Beat();
  reader.Leave();
  for (const DispatcherEvent& event : cluster.journal) {
    EXPECT_EQ(MayBeLate(event), std::holds_alternative<SplitsTaken>(event))
        << Describe(event);
  }
}

// A cluster whose journal lost its last events, after they were seen.
class AJournalThatIsBehind : public ::testing::Test {
 protected:
  AJournalThatIsBehind()
      : worker_(cluster_.AddWorker("w1")),
        reader_(cluster_.AddReader("j", "solo", "range 1000").Hello()),
        seen_(reader_.answer->seen) {
    cluster_.journal.pop_back();
    cluster_.Restart();
    reader_.Forget();
    worker_.Forget();
  }
  void BeatWith(const Seen& seen) {
    ClientBeat beat;
    beat.job = reader_.hello().job;
    beat.session = reader_.hello().session;
    beat.run = RunNumber(1);
    beat.sent = cluster_.now();
    beat.seen = seen;
    cluster_.Say(reader_.peer(), beat);
  }
  absl::Status LastRefusal() const {
    const auto* refusal = std::get_if<Refusal>(&cluster_.last->message);
    return refusal == nullptr ? absl::OkStatus() : refusal->status;
  }

  Cluster cluster_;
  Miller& worker_;
  Reader& reader_;
  const Seen seen_;
};

TEST_F(AJournalThatIsBehind, RefusesTheReaderThatKnows) {
  BeatWith(seen_);
  ASSERT_TRUE(reader_.reject.has_value());
  EXPECT_EQ(reader_.reject->reason, RejectReason::kRefused);
  EXPECT_TRUE(absl::IsDataLoss(reader_.reject->detail));
  const std::string text = ErrorText(reader_.reject->detail);
  EXPECT_THAT(text, HasSubstr(fmt::format("event {}", seen_.sequence)));
  EXPECT_THAT(text, HasSubstr("older copy"));
  EXPECT_THAT(text, HasSubstr("start again"));
}

TEST_F(AJournalThatIsBehind, RefusesTheWorkerThatKnows) {
  worker_.says.seen = seen_;
  worker_.Beat();
  EXPECT_FALSE(worker_.answer.has_value());
  EXPECT_TRUE(absl::IsDataLoss(LastRefusal()));
}

TEST_F(AJournalThatIsBehind, ServesNoPeerFromThenOn) {
  reader_.hello().seen = seen_;
  reader_.Hello();
  EXPECT_TRUE(reader_.reject.has_value());
  const size_t events = cluster_.journal.size();
  Reader& other = cluster_.AddReader("k", "solo", "range 10").Hello();
  ASSERT_TRUE(other.reject.has_value());
  EXPECT_TRUE(absl::IsDataLoss(other.reject->detail));
  worker_.Beat();
  EXPECT_FALSE(worker_.answer.has_value());
  cluster_.Pass(absl::Minutes(10));
  EXPECT_EQ(cluster_.journal.size(), events);
  EXPECT_FALSE(cluster_.dispatcher().behind().ok());
}

TEST_F(AJournalThatIsBehind, StillTellsItsStatus) {
  BeatWith(seen_);
  cluster_.Say("operator", StatusRequest{});
  EXPECT_TRUE(std::holds_alternative<StatusReply>(cluster_.last->message));
}

TEST_F(AJournalThatIsBehind, NumbersOfAnotherJournalAreNotCompared) {  // rule 8
  BeatWith({JournalId(78), 1'000'000});
  EXPECT_FALSE(reader_.reject.has_value());
  EXPECT_TRUE(cluster_.dispatcher().behind().ok());
}

}  // namespace
}  // namespace feedmill::testing
