// The thread of the journal, with a store whose writes end when the test says.

#include "broker/journal_thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "core/base/status.h"
#include "tests/unit/broker/store_vocabulary.h"

namespace feedmill::testing {
namespace {

using ::testing::ElementsAre;

class JournalThreadTest : public ::testing::Test {
 protected:
  void Start(uint64_t compact_from = 1'000) {
    journal_ = std::make_unique<JournalThread>(
        std::make_unique<FakeStore>(disk_, compact_from),
        [this] { disk_.Tell(); }, [this] { return disk_.now(); });
  }
  void Append(const std::string& name) { journal_->Append({Event(name)}, 1); }
  std::unique_ptr<const DispatcherState> StateAt(uint64_t sequence) {
    DispatcherState state;
    state.sequence = sequence;
    return std::make_unique<const DispatcherState>(std::move(state));
  }

  Disk disk_;
  std::unique_ptr<JournalThread> journal_;
};

TEST_F(JournalThreadTest, AnEventIsOnDiskOnlyWhenItsWriteHasEnded) {
  Start();
  Append("a");
  disk_.AwaitWrites(1);
  EXPECT_EQ(journal_->TakeProgress().sequence, 0);
  EXPECT_EQ(journal_->waiting_events(), 1);
  EXPECT_GT(journal_->waiting_bytes(), 0);
  disk_.Finish();
  disk_.AwaitWoken(1);
  const JournalThread::Progress progress = journal_->TakeProgress();
  EXPECT_EQ(progress.sequence, 1);
  EXPECT_EQ(progress.syncs, 1);
  EXPECT_EQ(journal_->waiting_events(), 0);
  EXPECT_EQ(journal_->waiting_bytes(), 0);
}

TEST_F(JournalThreadTest, EventsThatComeDuringAWriteAreWrittenTogether) {
  Start();
  Append("a");
  disk_.AwaitWrites(1);
  for (const char* name : {"b", "c", "d"}) Append(name);
  disk_.Finish();
  EXPECT_THAT(disk_.AwaitWrites(2), ElementsAre("a", "bcd"));
  disk_.AwaitWoken(1);
  EXPECT_EQ(journal_->TakeProgress().sequence, 1);
  disk_.Finish();
  disk_.AwaitWoken(2);
  EXPECT_EQ(journal_->TakeProgress().sequence, 4);
}

TEST_F(JournalThreadTest, TheEndWritesWhatWasHandedOver) {
  Start();
  Append("a");
  disk_.AwaitWrites(1);
  Append("b");
  disk_.Finish(2);
  journal_.reset();
  EXPECT_THAT(disk_.writes(), ElementsAre("a", "b"));
}

TEST_F(JournalThreadTest, NothingIsWrittenAfterAFailure) {
  Start();
  Append("a");
  disk_.AwaitWrites(1);
  Append("b");
  disk_.FailFromNowOn();
  disk_.AwaitWoken(1);
  const JournalThread::Progress progress = journal_->TakeProgress();
  EXPECT_TRUE(absl::IsResourceExhausted(progress.status));
  EXPECT_EQ(progress.sequence, 0);
  Append("c");
  journal_->WaitForProgress();
  journal_.reset();
  EXPECT_THAT(disk_.writes(), ElementsAre("a"));
}

TEST_F(JournalThreadTest, ASnapshotReplacesTheEventsBeforeIt) {
  Start(/*compact_from=*/2);
  Append("a");
  disk_.AwaitWrites(1);
  Append("b");
  EXPECT_FALSE(journal_->TakeProgress().worth_compacting);
  disk_.Finish(2);
  disk_.AwaitWoken(2);
  EXPECT_TRUE(journal_->TakeProgress().worth_compacting);
  Append("c");
  disk_.AwaitWrites(3);
  // "d" belongs to the snapshot and "e" does not, although both wait for "c".
  Append("d");
  journal_->Compact(StateAt(4));
  Append("e");
  EXPECT_FALSE(journal_->TakeProgress().worth_compacting);
  disk_.Finish(4);
  EXPECT_THAT(disk_.AwaitWrites(6),
              ElementsAre("a", "b", "c", "d", "snapshot at 4", "e"));
  journal_.reset();
}

// Messages need not wait for a snapshot.
TEST_F(JournalThreadTest, EventsAreOnDiskBeforeTheSnapshotAfterThem) {
  Start();
  Append("a");
  disk_.AwaitWrites(1);
  Append("b");
  journal_->Compact(StateAt(2));
  disk_.Finish(2);
  disk_.AwaitWrites(3);  // the snapshot
  EXPECT_EQ(journal_->TakeProgress().sequence, 2);
  disk_.Finish();
}

TEST_F(JournalThreadTest, AFailedSnapshotIsAFailure) {
  Start();
  Append("a");
  journal_->Compact(StateAt(7));
  disk_.Finish(3);
  journal_->WaitIdle(absl::Minutes(5));
  EXPECT_TRUE(absl::IsDataLoss(journal_->TakeProgress().status));
}

TEST_F(JournalThreadTest, AWaitEndsWhenAllIsWritten) {
  Start();
  Append("a");
  disk_.AwaitWrites(1);
  std::thread finisher([this] { disk_.Finish(); });
  journal_->WaitIdle(absl::Minutes(5));
  finisher.join();
  EXPECT_EQ(journal_->TakeProgress().sequence, 1);
}

TEST_F(JournalThreadTest, AWaitEndsAtItsTimeout) {
  Start();
  Append("a");
  disk_.AwaitWrites(1);
  journal_->WaitIdle(absl::Milliseconds(1));
  EXPECT_EQ(journal_->TakeProgress().sequence, 0);
  disk_.Finish();
  journal_->WaitForProgress();
  EXPECT_EQ(journal_->TakeProgress().sequence, 1);
}

TEST_F(JournalThreadTest, MeasuresTheWriteAndTheWaitForIt) {
  Start();
  Append("a");
  disk_.AwaitWrites(1);
  Append("b");
  disk_.Finish();
  disk_.AwaitWrites(2);
  EXPECT_EQ(journal_->Worked(), absl::Milliseconds(2));
  disk_.Finish();
  disk_.AwaitWoken(2);
  const JournalThread::Progress progress = journal_->TakeProgress();
  EXPECT_EQ(progress.syncs, 2);
  EXPECT_GE(progress.last_delay, progress.last_sync);
  EXPECT_GE(progress.longest, progress.last_sync);
  EXPECT_EQ(journal_->TakeProgress().longest, absl::ZeroDuration());
}

// Waking a thread costs more than a fast write.
TEST_F(JournalThreadTest, TheOwnerWritesWhileTheDiskIsFast) {
  Start();
  disk_.Finish(1'000);
  const auto write = [this](absl::Duration took) {
    disk_.SetTime(took);
    Append("a");
    journal_->WaitIdle(absl::Minutes(5));
    return disk_.writer() == std::this_thread::get_id();
  };
  for (int k = 0; k < 64; ++k) EXPECT_FALSE(write(absl::Milliseconds(1)));
  for (int k = 0; k < 64; ++k) EXPECT_TRUE(write(absl::Milliseconds(1)));
  // A busy machine may make a write a little slow.
  EXPECT_TRUE(write(absl::Milliseconds(11)));
  EXPECT_TRUE(write(absl::Milliseconds(1)));
  // The last slow write on the owner's thread for some time.
  EXPECT_TRUE(write(absl::Milliseconds(50)));
  for (int k = 0; k < 64; ++k) EXPECT_FALSE(write(absl::Milliseconds(1)));
  EXPECT_TRUE(write(absl::Milliseconds(1)));
  EXPECT_EQ(journal_->TakeProgress().sequence, 196);
  EXPECT_EQ(journal_->waiting_events(), 0);
}

}  // namespace
}  // namespace feedmill::testing
