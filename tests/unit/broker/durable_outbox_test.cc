#include "broker/durable_outbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/broker/dispatcher_vocabulary.h"
#include "tests/unit/broker/store_vocabulary.h"

namespace feedmill::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class DurableOutboxTest : public ::testing::Test {
 protected:
  DurableOutboxTest()
      : dispatcher_(DispatcherSettings(), StoryPlanner(), DispatcherState(),
                    now_) {}
  void Start(bool with_journal = true, uint64_t compact_from = 1'000) {
    std::unique_ptr<JournalThread> journal;
    if (with_journal) {
      journal = std::make_unique<JournalThread>(
          std::make_unique<FakeStore>(disk_, compact_from),
          [this] { disk_.Tell(); }, [this] { return disk_.now(); });
    }
    outbox_ = std::make_unique<DurableOutbox>(
        dispatcher_, std::move(journal), [this](const Outgoing& outgoing) {
          sent_.push_back(outgoing.to.value());
        });
  }
  // Adds the effects of a call with an event and a message to `to`.
  void Call(const std::string& event, const std::string& to) {
    DispatcherEffects effects;
    effects.events.push_back(Event(event));
    effects.after = ++after_;
    effects.sends.push_back({PeerId(to), ClientBeat()});
    outbox_->Add(effects);
  }
  absl::Status Settle() { return outbox_->Settle(now_); }

  const absl::Time now_ = absl::UnixEpoch();
  Disk disk_;
  Dispatcher dispatcher_;
  std::vector<std::string> sent_;
  uint64_t after_ = 0;
  std::unique_ptr<DurableOutbox> outbox_;
};

TEST_F(DurableOutboxTest, SendsAtTheEndOfTheTurnWithoutAJournal) {
  Start(/*with_journal=*/false);
  Call("a", "reader");
  EXPECT_THAT(sent_, IsEmpty());
  EXPECT_TRUE(Settle().ok());
  EXPECT_THAT(sent_, ElementsAre("reader"));
}

TEST_F(DurableOutboxTest, HoldsMessagesAndAnswersUntilTheirEventsAreOnDisk) {
  Start();
  Call("a", "reader");
  outbox_->Add([this] { sent_.push_back("answer"); });
  EXPECT_TRUE(Settle().ok());
  EXPECT_THAT(disk_.AwaitWrites(1), ElementsAre("a"));
  EXPECT_THAT(sent_, IsEmpty());
  disk_.Finish();
  disk_.AwaitWoken(1);
  EXPECT_TRUE(outbox_->TakeProgress().ok());
  EXPECT_TRUE(Settle().ok());
  EXPECT_THAT(sent_, ElementsAre("reader", "answer"));
  EXPECT_EQ(outbox_->progress().sequence, 1);
}

TEST_F(DurableOutboxTest, SendsInTheTurnIfTheDiskIsFast) {
  Start();
  disk_.Finish();
  Call("a", "reader");
  EXPECT_TRUE(Settle().ok());
  EXPECT_THAT(sent_, ElementsAre("reader"));
}

TEST_F(DurableOutboxTest, HoldsMessagesWhileAnotherDispatcherMayLead) {
  disk_.SetCertain(absl::Seconds(1));
  Start();
  disk_.Finish();
  Call("a", "reader");
  EXPECT_TRUE(Settle().ok());
  EXPECT_THAT(sent_, ElementsAre("reader"));
  const absl::Time later = now_ + absl::Seconds(2);
  DispatcherEffects effects;  // without an event
  effects.after = after_;
  effects.sends.push_back({PeerId("renewed"), ClientBeat()});
  outbox_->Add(effects);
  EXPECT_TRUE(outbox_->Settle(later).ok());
  EXPECT_THAT(sent_, ElementsAre("reader"));
  disk_.SetCertain(absl::Seconds(10));
  disk_.Finish();
  Call("b", "worker");
  EXPECT_TRUE(outbox_->Settle(later).ok());
  EXPECT_THAT(sent_, ElementsAre("reader", "renewed", "worker"));
}

TEST_F(DurableOutboxTest, WritesAllEventsButSendsNothingWhenItCloses) {
  Start();
  disk_.Finish();
  Call("a", "reader");
  outbox_->Close();
  EXPECT_THAT(disk_.writes(), ElementsAre("a"));
  EXPECT_THAT(sent_, IsEmpty());
}

TEST_F(DurableOutboxTest, ReturnsTheErrorOfAWriteAndSendsNothing) {
  Start();
  disk_.FailFromNowOn();
  Call("a", "reader");
  EXPECT_TRUE(absl::IsResourceExhausted(Settle()));
  EXPECT_THAT(sent_, IsEmpty());
}

}  // namespace
}  // namespace feedmill::testing
